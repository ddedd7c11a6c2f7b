import type { Dim } from '../../base/dim/index.js';
import type { Attributes } from '../../base/attributes/schema.js';
import type { Shape, Tensor, TensorType } from '../../ir/types.js';

/** A call in a loop that is to be batched over all rows. */
export interface BatchContext<T extends Tensor, A = Attributes> {
  /** Operands; those that differ between rows have an additional first axis, at least one does. */
  readonly inputs: readonly T[];
  readonly isBatched: readonly boolean[];
  /** The result types of the call for one row. */
  readonly outputTypes: readonly TensorType[];
  /** Number of rows, possibly 0. */
  readonly length: Dim;
  readonly attributes: A;
}

/**
 * Batching rule of an operator: calls on rows become one call on all of them. Without a declaration,
 * broadcasting elementwise operators and views have default rules; others stay in their loop.
 */
export interface Batching<A = Attributes> {
  /**
   * The results of all rows along an additional first axis, equal to those of the calls up to the order of
   * summation.
   */
  rows<T extends Tensor>(context: BatchContext<T, A>): readonly T[];
  /** False where rows have no common call, so that they stay in their loop. Default: they always have one. */
  applies?(isBatched: readonly boolean[], length: Dim): boolean;
  /** True when the call on sums is the sum of the calls, so that one call suffices. Default false. */
  readonly isLinear?: boolean;
  /** Operands that are zero together where the result is to be zero. Default: one that is zero is enough. */
  readonly zeroWith?: readonly number[];
  /** The sum over all rows of the only result, where there is a cheaper way than stacking and adding. */
  total?<T extends Tensor>(context: BatchContext<T, A>): T;
}

/** The shape of an operand without the axis of the rows. */
export function rowShape(
  { inputs, isBatched }: Pick<BatchContext<Tensor, never>, 'inputs' | 'isBatched'>,
  k: number,
): Shape {
  const { shape } = inputs[k].type;
  return isBatched[k] ? shape.slice(1) : shape;
}
