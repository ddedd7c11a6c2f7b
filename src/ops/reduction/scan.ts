import { type Dim, sizeOf } from '../../base/dim.js';
import type { DType } from '../../base/dtype.js';
import * as e from '../../loop/build.js';
import type { Expr, Stmt } from '../../loop/nodes.js';
import type { KernelContext } from '../lowering.js';
import { computeScalar } from '../lowering.js';
import { overAll, ravel } from '../loops.js';

/** A recurrence along one axis: a state goes from element to element, results are read off on the way. */
export interface Scan {
  readonly axis: number;
  /** From the last element to the first. */
  readonly reverse: boolean;
  /** Results see the state before the element instead of after it. */
  readonly exclusive: boolean;
  /** The state before the first element, and the dtypes that hold its parts. */
  readonly initial: readonly Expr[];
  readonly dtypes: readonly DType[];
  /** The state after the element at an index; `isFirst` holds for the first on the way. */
  step(state: readonly Expr[], index: readonly Expr[], isFirst: Expr): readonly Expr[];
  /** The results, one per output, in the compute types of their dtypes. */
  finish(state: readonly Expr[]): readonly Expr[];
}

/**
 * The loops of a scan. Along the last axis the state is a local, row after row. Along another axis the
 * rows behind it advance together, as vectors, with their states in scratch memory.
 */
export function scanLoops(context: KernelContext<unknown>, scan: Scan): Stmt {
  const { outputs } = context;
  const { shape } = outputs[0];
  const outer = shape.slice(0, scan.axis);
  const inner = shape.slice(scan.axis + 1);
  const extent = shape[scan.axis];
  const along = (body: (position: Expr, isFirst: Expr) => Stmt): Stmt =>
    e.forLoop('k', 0, extent, (k) =>
      body(scan.reverse ? e.sub(e.sub(extent, 1), k) : k, e.eq(k, 0)),
    );
  const storeAll = (state: readonly Expr[], index: readonly Expr[]): Stmt =>
    e.block(...scan.finish(state).map((result, k) => outputs[k].store(index, result)));

  if (inner.length === 0) {
    return overAll(
      outer,
      (lead) => {
        const state = scan.initial.map(({ type }, k) => e.variable(`state${k}`, type.scalar));
        return e.block(
          ...state.map((part, k) => e.declare(part, scan.initial[k])),
          along((position, isFirst) => {
            const index = [...lead, position];
            const next = state.map(({ type }, k) => e.variable(`next${k}`, type.scalar));
            const after = scan.step(state, index, isFirst);
            return e.block(
              ...next.map((part, k) => e.declare(part, after[k])),
              storeAll(scan.exclusive ? state : next, index),
              ...state.map((part, k) => e.assign(part, next[k])),
            );
          }),
        );
      },
      'serial',
    );
  }

  const innerDims: readonly Dim[] = context.outputTypes[0].shape.slice(scan.axis + 1);
  const rowLength = context.extent(sizeOf(innerDims));
  const rows = scan.dtypes.map((dtype, k) => context.scratch(`state${k}`, dtype, rowLength));
  const scalars = scan.dtypes.map(computeScalar);
  return overAll(
    outer,
    (lead) =>
      e.block(
        e.forLoop(
          'i',
          0,
          rowLength,
          (i) => e.block(...rows.map((row, k) => e.store(row, i, scan.initial[k]))),
          { mode: 'vector' },
        ),
        along((position, isFirst) =>
          overAll(inner, (rest) => {
            const index = [...lead, position, ...rest];
            const at = ravel(rest, inner);
            const before = rows.map((row) => e.load(row, at));
            const after = scan.step(before, index, isFirst);
            const next = after.map(({ type }, k) => e.variable(`next${k}`, scalars[k], type.lanes));
            return e.block(
              ...next.map((part, k) => e.declare(part, after[k])),
              storeAll(scan.exclusive ? before : next, index),
              ...rows.map((row, k) => e.store(row, at, next[k])),
            );
          }),
        ),
      ),
    'serial',
  );
}
