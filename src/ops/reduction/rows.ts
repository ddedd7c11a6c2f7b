import type { Tensor } from '../../ir/types.js';
import type { BatchContext } from '../declare/batch.js';
import { cast } from '../elementwise/conversion.js';
import { broadcastTo, sum } from './sum.js';

/* Parts of batching rules. */

/** The sum of the rows, in their dtype. */
export function sumOfRows<T extends Tensor>(x: T): T {
  return cast(sum(x, 0), x.type.dtype);
}

/** All operands with an axis of rows, along which those that are the same for all rows are repeated. */
export function withRows<T extends Tensor>({
  inputs,
  isBatched,
  length,
}: Pick<BatchContext<T>, 'inputs' | 'isBatched' | 'length'>): readonly T[] {
  return inputs.map((x, k) => (isBatched[k] ? x : broadcastTo(x, [length, ...x.type.shape])));
}

/** An axis of a row, from its first or its last one on, as an axis of rows. */
export function axisInRows(axis: number): number {
  return axis < 0 ? axis : axis + 1;
}
