import type { DType } from '../base/dtype.js';
import * as e from '../loop/language/build.js';
import type { Expr, Scalar, Stmt, Var } from '../loop/language/nodes.js';
import { computeScalar } from './declare/lowering.js';
import { overAll } from './loops.js';

/** A type in which elements of a dtype are multiplied and summed. */
export type SumScalar = Exclude<Scalar, 'bool'>;

export function accumulatorOf(dtype: DType): SumScalar {
  const scalar = computeScalar(dtype);
  return scalar === 'bool' ? 'i32' : scalar;
}

/** The sum of the terms that `terms` adds at each index of a space, in row-major order; `use` gets it. */
export function sumOver(
  scalar: SumScalar,
  space: readonly Expr[],
  terms: (index: readonly Expr[], add: (term: Expr) => Stmt) => Stmt,
  use: (sum: Var) => Stmt,
): Stmt {
  const sum = e.variable('sum', scalar);
  const add = (term: Expr): Stmt => e.assign(sum, e.add(sum, term));
  return e.block(
    e.declare(sum, e.constant(scalar, 0)),
    overAll(space, (index) => terms(index, add), 'serial'),
    use(sum),
  );
}
