import { type Dim, elementCount } from '../../../base/dim/index.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import type { KernelContext } from '../../../ops/declare/lowering.js';
import type { Scan } from '../../../ops/declare/scan.js';
import {
  declareAll,
  scanLocals,
  scanPosition,
  storeScanResults,
} from '../../../ops/reduction/scans/scan.js';
import { overAll, ravel } from '../../../ops/loops.js';

/** Number of terms that a running sum adds before its rounding error is computed (decision 45). */
const stepsOfSums = 8;
/** Number of rows that advance together along an outer axis where states are renormalized. */
const rowsTogether = 4;

/**
 * The loops of a scan. Along the last axis the state is a local, row after row. Along another axis the rows
 * behind it advance together, as vectors, with their states in scratch memory.
 */
export function scanInOrder(context: KernelContext<unknown>, scan: Scan): Stmt {
  const { shape } = context.outputs[0];
  const outer = shape.slice(0, scan.axis);
  const isLast = scan.axis === shape.length - 1;
  const body = isLast ? scanRow(context, scan) : scanColumns(context, scan);
  return overAll(outer, body, 'serial');
}

/** Along the last axis. */
function scanRow(context: KernelContext<unknown>, scan: Scan): (lead: readonly Expr[]) => Stmt {
  const extent = context.outputs[0].shape[scan.axis];
  return (lead) => {
    const state = scanLocals('state', scan.initial);
    const advance = (k: Expr): Stmt => {
      const index = [...lead, scanPosition(scan, extent, k)];
      const next = scanLocals('next', scan.initial);
      return e.block(
        ...declareAll(next, scan.step(state, index, e.eq(k, 0))),
        storeScanResults(context, scan, scan.exclusive ? state : next, index),
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
              const renewed = scanLocals('renewed', scan.initial);
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
          const kept = scanLocals(name, parts);
          statements.push(...declareAll(kept, parts));
          state = kept;
        };
        for (let row = 0; row < count; row++) {
          const k = row === 0 ? first : e.add(first, row);
          const index = [...lead, scanPosition(scan, extent, k), ...rest];
          const before = state;
          keep(`next${row}_`, scan.step(state, index, e.eq(k, 0)));
          statements.push(storeScanResults(context, scan, scan.exclusive ? before : state, index));
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
