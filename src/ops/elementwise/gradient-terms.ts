/** Terms of gradients, written in operators, that several files share. */
import type { Tensor } from '../../ir/types.js';
import { add, mul, neg, square, sub } from './arithmetic.js';
import { greater, less } from './comparison.js';
import { exp } from './exponential.js';
import { logicalAnd, logicalOr } from './logic.js';
import { where } from './selection.js';
import { sigmoid } from './sigmoid.js';
import { abs } from './sign.js';

/** e^x below 0 and 1 elsewhere: the branch not chosen must not overflow, nor its gradient. */
export function decay<T extends Tensor>(x: T): T {
  return exp(where(greater(x, 0), 0, x));
}

/**
 * sigmoid(x) for second derivatives: by its complement above 0, since the derivative near 1 needs 1 minus the
 * result accurately.
 */
export function stableSigmoid<T extends Tensor>(x: T): T {
  const isMost = greater(x, 0);
  const least = sigmoid(where(isMost, neg(x), x));
  return where(isMost, sub(1, least), least);
}

/** 1 - x^2: near 1 as a product to avoid cancellation, near 0 not, to avoid it in the derivative. */
export function oneLessSquare<T extends Tensor>(x: T): T {
  const far = greater(abs(x), 0.5);
  return where(far, mul(sub(1, x), add(x, 1)), sub(1, square(x)));
}

/** Range in which operands need no scaling, and the power of two by which they are scaled elsewhere. */
type Scaling = readonly [least: number, most: number, power: number];

const scalings: Readonly<Record<'length' | 'squares', { f32: Scaling; f64: Scaling }>> = {
  length: { f32: [2 ** -100, 2 ** 120, 2 ** 60], f64: [2 ** -960, 2 ** 1000, 2 ** 120] },
  squares: { f32: [2 ** -50, 2 ** 50, 2 ** 90], f64: [2 ** -480, 2 ** 480, 2 ** 600] },
};

/**
 * Scales by a power of two, so that the hypotenuse of `x` and `y`, or the sum of their squares, is neither
 * infinite nor denormal, which has too few digits for a divisor.
 */
export function towardsOne<T extends Tensor>(
  x: T,
  y: T,
  wanted: keyof typeof scalings,
): (z: T) => T {
  const [least, most, power] = scalings[wanted][x.type.dtype === 'float64' ? 'f64' : 'f32'];
  const isShort = logicalAnd(less(abs(x), least), less(abs(y), least));
  const isLong = logicalOr(greater(abs(x), most), greater(abs(y), most));
  return (z) => where(isShort, mul(z, power), where(isLong, mul(z, 1 / power), z));
}
