import { ArgumentError } from '../../base/errors.js';
import type { Tensor } from '../../ir/types.js';
import type { DefaultTensor, Input } from '../declare.js';
import { mul } from '../elementwise/arithmetic.js';
import { normalizeAxis } from '../infer.js';
import { reshape } from '../movement/reshape.js';
import type { Binary } from '../signatures.js';
import { einsum } from './einsum.js';
import { shapeOfInput } from './window.js';

/** Products with NumPy's names, each a call of another operator. */

/**
 * The sums of products over axes of both: their number (the last ones of `x`, the first of `y`), or two
 * lists that are taken in pairs. The result has the other axes of `x`, then those of `y`. Default 2.
 */
export function tensordot<T extends Tensor = DefaultTensor>(
  x: Input<T>,
  y: Input<T>,
  axes: number | readonly [readonly number[], readonly number[]] = 2,
): T {
  const ranks = [x, y].map((operand) => shapeOfInput(operand, 'tensordot').length);
  const [own, others] =
    typeof axes === 'number'
      ? [range(axes, ranks[0] - axes), range(axes, 0)]
      : axes.map((list, side) => list.map((axis) => normalizeAxis('tensordot', axis, ranks[side])));
  if (own.length !== others.length || own.length > Math.min(...ranks)) {
    throw new ArgumentError('the axes do not pair up', {
      op: 'tensordot',
      expected: `as many axes of x as of y, at most ${Math.min(...ranks)}`,
      actual: `${own.length} and ${others.length}`,
    });
  }
  const left = range(ranks[0], 0).map(letter);
  const right = range(ranks[1], ranks[0]).map(letter);
  own.forEach((axis, at) => (right[others[at]] = left[axis]));
  const kept = [
    ...left.filter((_, axis) => !own.includes(axis)),
    ...right.filter((_, axis) => !others.includes(axis)),
  ];
  return einsum(`${left.join('')},${right.join('')}->${kept.join('')}`, x, y);
}

/**
 * NumPy's `dot`: of vectors their inner product, of matrices their product, with a scalar `mul`; else the
 * sums over the last axis of `x` and the one before the last of `y` (or its only one).
 */
export const dot: Binary = (x, y) => {
  const [left, right] = [x, y].map((operand) => shapeOfInput(operand, 'dot').length);
  if (left === 0 || right === 0) return mul(x, y);
  return tensordot(x, y, [[left - 1], [Math.max(right - 2, 0)]]);
};

/** Every element of `x` times every element of `y`: `[size of x, size of y]`. */
export const outer: Binary = (x, y) => mul(reshape(x, [-1, 1]), reshape(y, [1, -1]));

function range(count: number, start: number): number[] {
  return Array.from({ length: Math.max(count, 0) }, (_, at) => start + at);
}

function letter(at: number): string {
  return 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'[at];
}
