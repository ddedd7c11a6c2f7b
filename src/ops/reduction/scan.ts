import { type Dim, elementCount } from '../../base/dim/index.js';
import type { DType } from '../../base/dtype.js';
import * as e from '../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../loop/language/nodes.js';
import type { KernelContext } from '../declare/lowering.js';
import { overAll, ravel } from '../loops.js';

/**
 * A scan along one axis: a state is carried from element to element, and results are computed from it on the
 * way.
 */
export interface Scan {
  readonly axis: number;
  /** Iterate from the last element to the first. */
  readonly reverse: boolean;
  /** Results see the state before the element instead of after it. */
  readonly exclusive: boolean;
  /** The initial state, and the dtypes that hold its parts. */
  readonly initial: readonly Expr[];
  readonly dtypes: readonly DType[];
  /** The state after the element at an index; `isFirst` holds for the first iteration. */
  step(state: readonly Expr[], index: readonly Expr[], isFirst: Expr): readonly Expr[];
  /** The results, one per output, in the compute types of their dtypes. */
  finish(state: readonly Expr[]): readonly Expr[];
  /**
   * A renormalized state, in locals, for one that was carried through `stepsOfSums` elements at most since
   * the last renormalization. Default: none is needed.
   */
  renew?(state: readonly Expr[]): readonly Expr[];
}

/** Number of terms that a running sum adds before its rounding error is computed (decision 45). */
const stepsOfSums = 8;
/** Number of rows that advance together along an outer axis where states are renormalized. */
const rowsTogether = 4;

/**
 * The loops of a scan. Along the last axis the state is a local, row after row. Along another axis the rows
 * behind it advance together, as vectors, with their states in scratch memory.
 */
export function scanLoops(context: KernelContext<unknown>, scan: Scan): Stmt {
  const { shape } = context.outputs[0];
  const outer = shape.slice(0, scan.axis);
  const isLast = scan.axis === shape.length - 1;
  const body = isLast ? scanRow(context, scan) : scanColumns(context, scan);
  return overAll(outer, body, 'serial', context.target.isGrid === true ? context : null);
}

/** Along the last axis. */
function scanRow(context: KernelContext<unknown>, scan: Scan): (lead: readonly Expr[]) => Stmt {
  const extent = context.outputs[0].shape[scan.axis];
  return (lead) => {
    const state = locals('state', scan.initial);
    const advance = (k: Expr): Stmt => {
      const index = [...lead, positionOf(scan, extent, k)];
      const next = locals('next', scan.initial);
      return e.block(
        ...declareAll(next, scan.step(state, index, e.eq(k, 0))),
        storeResults(context, scan, scan.exclusive ? state : next, index),
        ...state.map((part, j) => e.assign(part, next[j])),
      );
    };
    const { renew } = scan;
    return e.block(
      ...declareAll(state, scan.initial),
      renew === undefined
        ? e.forLoop('k', 0, extent, advance)
        : e.forLoop(
            'block',
            0,
            extent,
            (begin) => {
              const renewed = locals('renewed', scan.initial);
              return e.block(
                e.forLoop('k', begin, e.min(e.add(begin, stepsOfSums), extent), advance),
                ...declareAll(renewed, renew(state)),
                ...state.map((part, j) => e.assign(part, renewed[j])),
              );
            },
            { step: stepsOfSums },
          ),
    );
  };
}

/** Along another axis. */
function scanColumns(context: KernelContext<unknown>, scan: Scan): (lead: readonly Expr[]) => Stmt {
  const { shape } = context.outputs[0];
  const inner = shape.slice(scan.axis + 1);
  const extent = shape[scan.axis];
  const innerDims: readonly Dim[] = context.outputTypes[0].shape.slice(scan.axis + 1);
  const rowLength = context.extent(elementCount(innerDims));
  const rows = scan.dtypes.map((dtype, k) => context.scratch(`state${k}`, dtype, rowLength));
  return (lead) => {
    const advance = (first: Expr, count: number): Stmt =>
      overAll(inner, (rest) => {
        const at = ravel(rest, inner);
        let state: readonly Expr[] = rows.map((row) => e.load(row, at));
        const statements: Stmt[] = [];
        const keep = (name: string, parts: readonly Expr[]): void => {
          const kept = locals(name, parts);
          statements.push(...declareAll(kept, parts));
          state = kept;
        };
        for (let row = 0; row < count; row++) {
          const k = row === 0 ? first : e.add(first, row);
          const index = [...lead, positionOf(scan, extent, k), ...rest];
          const before = state;
          keep(`next${row}_`, scan.step(state, index, e.eq(k, 0)));
          statements.push(storeResults(context, scan, scan.exclusive ? before : state, index));
        }
        if (scan.renew !== undefined) keep('renewed', scan.renew(state));
        return e.block(...statements, ...rows.map((row, j) => e.store(row, at, state[j])));
      });
    const together = scan.renew === undefined ? 1 : rowsTogether;
    const whole = together === 1 ? extent : e.and(extent, -together);
    return e.block(
      e.forLoop(
        'i',
        0,
        rowLength,
        (i) => e.block(...rows.map((row, k) => e.store(row, i, scan.initial[k]))),
        { mode: 'vector' },
      ),
      e.forLoop('k', 0, whole, (k) => advance(k, together), { step: together }),
      ...(together === 1 ? [] : [e.forLoop('k', whole, extent, (k) => advance(k, 1))]),
    );
  };
}

/** Index along the axis after some iterations. */
function positionOf({ reverse }: Scan, extent: Expr, k: Expr): Expr {
  return reverse ? e.sub(e.sub(extent, 1), k) : k;
}

function locals(name: string, like: readonly Expr[]): readonly Var[] {
  return like.map(({ type }, k) => e.variable(`${name}${k}`, type.scalar, type.lanes));
}

function declareAll(variables: readonly Var[], values: readonly Expr[]): readonly Stmt[] {
  return variables.map((local, k) => e.declare(local, values[k]));
}

function storeResults(
  { outputs }: KernelContext<unknown>,
  scan: Scan,
  state: readonly Expr[],
  index: readonly Expr[],
): Stmt {
  return e.block(...scan.finish(state).map((result, k) => outputs[k].store(index, result)));
}
