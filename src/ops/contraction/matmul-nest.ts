import * as e from '../../loop/language/build.js';
import type { Expr, Stmt } from '../../loop/language/nodes.js';
import { type Access, computeScalar, type KernelContext } from '../declare/lowering.js';
import { overAll } from '../loops.js';
import { accumulatorOf, sumOver } from '../sums.js';
import { isOne } from './unravel.js';

/** Matrix products as sums over the inner axis, each by itself. */
export function productNest(context: KernelContext<unknown>): Stmt {
  const {
    inputs: [x, y],
    outputs: [out],
  } = context;
  const scalar = accumulatorOf(out.dtype);
  const [hasRows, hasColumns] = [x.shape.length > 1, y.shape.length > 1];
  const operand = (from: Access, batch: readonly Expr[], inner: readonly Expr[]): Expr =>
    e.cast(scalar, from.at([...alignedIndex(from, batch, inner.length), ...inner]));
  return overAll(
    out.shape,
    (index) => {
      const column = hasColumns ? index.slice(-1) : [];
      const rest = hasColumns ? index.slice(0, -1) : index;
      const row = hasRows ? rest.slice(-1) : [];
      const batch = hasRows ? rest.slice(0, -1) : rest;
      return sumOver(
        scalar,
        [x.shape.at(-1)!],
        ([k], add) => add(e.mul(operand(x, batch, [...row, k]), operand(y, batch, [k, ...column]))),
        (sum) => out.store(index, e.cast(computeScalar(out.dtype), sum)),
      );
    },
    'serial',
    context,
  );
}

/** The batch index into an operand: aligned from the right, an extent of 1 repeats. */
export function alignedIndex(
  from: Access,
  batchIndex: readonly Expr[],
  innerRank: number,
): readonly Expr[] {
  const own = from.shape.slice(0, from.shape.length - innerRank);
  const skipped = batchIndex.length - own.length;
  return own.map((extent, axis) => (isOne(extent) ? e.i32(0) : batchIndex[skipped + axis]));
}
