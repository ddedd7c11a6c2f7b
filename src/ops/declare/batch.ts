import type { Dim } from '../../base/dim/index.js';
import type { Attributes } from '../../base/attributes/schema.js';
import type { Shape, Tensor, TensorType } from '../../ir/types.js';

/** A call in a loop that is to be made once for all rows. */
export interface BatchContext<T extends Tensor, A = Attributes> {
  /** Those that differ from row to row have a further first axis; at least one does. */
  readonly inputs: readonly T[];
  readonly isBatched: readonly boolean[];
  /** What the call gives for one row. */
  readonly outputTypes: readonly TensorType[];
  /** How many rows there are; may be 0. */
  readonly length: Dim;
  readonly attributes: A;
}

/**
 * How calls on rows become one call on all of them. Where nothing is declared, operators that work element
 * by element on what broadcasting aligns, and views, have rules of their own; any other stays in its loop.
 */
export interface Batching<A = Attributes> {
  /**
   * The results of all rows along a further first axis: each element is what the call gives for its row,
   * up to the order in which sums are taken.
   */
  rows<T extends Tensor>(context: BatchContext<T, A>): readonly T[];
  /** Whether the call on sums is the sum of the calls, so that it need only be made once. Default false. */
  readonly isLinear?: boolean;
  /** The sum over all rows of the only result, where there is a better way than stacking and adding. */
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
