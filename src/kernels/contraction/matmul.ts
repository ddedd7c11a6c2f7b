import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type Access, computeScalar, type KernelContext } from '../../ops/declare/lowering.js';
import type { Contraction } from './spec.js';
import { alignedIndex } from '../../ops/contraction/matmul-nest.js';
import { columnsShape, isShared } from '../../ops/contraction/matmul-shapes.js';
import { unravel, volume } from '../../ops/contraction/unravel.js';
import { accumulatorOf } from '../../ops/sums.js';

/** The contraction of `matmul`. A batch of rows that meets one matrix is folded into the rows. */
export function productOf(context: KernelContext<unknown>): Contraction {
  const {
    inputs: [x, y],
    outputs: [out],
    inputTypes,
  } = context;
  const [vectorLeft, vectorRight] = inputTypes.map(({ shape }) => shape.length === 1);
  const one = e.i32(1);
  const m = vectorLeft ? one : x.shape.at(-2)!;
  const n = vectorRight ? one : y.shape.at(-1)!;
  const batch = out.shape.slice(0, out.shape.length - (vectorLeft ? 0 : 1) - (vectorRight ? 0 : 1));
  const folded = !vectorLeft && isShared(columnsShape(inputTypes[1].shape));
  const [outer, rows] = folded ? [[], [...batch, m]] : [batch, [m]];
  const scalar = computeScalar(out.dtype);
  const compute = accumulatorOf(out.dtype);

  /** Batch indices, then the row. */
  const position = (b: Expr, i: Expr): Expr[] => [...unravel(b, outer), ...unravel(i, rows)];
  const operand = (from: Access, batchIndex: readonly Expr[], inner: readonly Expr[]): Expr =>
    e.cast(compute, from.at([...alignedIndex(from, batchIndex, inner.length), ...inner]));
  return {
    context,
    scalar: compute,
    batch: volume(outer),
    m: volume(rows),
    n,
    k: x.shape.at(-1)!,
    a: (b, i, k) => {
      const at = position(b, i);
      return operand(x, at.slice(0, -1), vectorLeft ? [k] : [at.at(-1)!, k]);
    },
    rightKeeper: context.keeper,
    b: (b, k, j) => operand(y, folded ? [] : unravel(b, outer), vectorRight ? [k] : [k, j]),
    store: (b, i, j, value) => {
      const at = position(b, i);
      const row = vectorLeft ? at.slice(0, -1) : at;
      return out.store(vectorRight ? row : [...row, j], e.cast(scalar, value));
    },
  };
}
