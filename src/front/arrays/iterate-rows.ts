import { ShapeError } from '../../base/errors.js';
import { reshape, split } from '../../ops/index.js';
import type { NDArray } from '../core/ndarray.js';

/*
 * Taking arrays apart into rows and putting them together, in blocks of blocks. One by one, each row
 * would cost as much as the whole array in a backward pass; all at once, each length would need code of
 * its own, with as many operands as there are rows.
 */

/**
 * Number of parts that are split or joined at once. Each number of parts is a kernel of its own, and larger
 * ones take longer to compile; smaller ones copy the rows more often.
 */
export const fan = 8;

/** The rows of an array along its first axis, which they drop; the last one first if `reverse`. */
export function* iterateRows(x: NDArray, reverse: boolean): Generator<NDArray, void> {
  const [length, ...rest] = x.shape;
  let size = 1;
  while (size * fan < length) size *= fan;
  const cuts = Array.from({ length: Math.ceil(length / size) - 1 }, (_, i) => (i + 1) * size);
  const parts = cuts.length === 0 ? [x] : split(x, cuts);
  for (const part of reverse ? parts.toReversed() : parts) {
    if (size === 1) yield reshape(part, rest);
    else yield* iterateRows(part, reverse);
  }
}

/**
 * The rows of an array for `for...of`.
 * @throws ShapeError for an array of rank 0.
 */
export function rowsOf(x: NDArray, op: string = 'for...of'): IterableIterator<NDArray> {
  checkRows(x, op);
  return x.shape[0] === 0 ? [].values() : iterateRows(x, false);
}

/** @throws ShapeError for an array without a first axis. */
export function checkRows(array: NDArray, op: string): void {
  if (array.ndim > 0) return;
  throw new ShapeError('an array of rank 0 has no rows to go over', {
    op,
    expected: 'an array with a first axis',
    actual: 'rank 0',
  });
}
