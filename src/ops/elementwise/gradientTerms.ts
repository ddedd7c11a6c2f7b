/** Terms of gradients, written in operators, that more than one file of functions needs. */
import type { Tensor } from '../../ir/types.js';
import { add, mul, square, sub } from './arithmetic.js';
import { greater, less } from './comparison.js';
import { exp } from './exponential.js';
import { logicalAnd, logicalOr } from './logic.js';
import { where } from './selection.js';
import { abs } from './sign.js';

/** e^x below 0 and 1 elsewhere: where it is not chosen it must not overflow, nor must its gradient. */
export function decay<T extends Tensor>(x: T): T {
  return exp(where(greater(x, 0), 0, x));
}

/** 1 - x^2, which near 1 is a product lest it cancel, and near 0 none lest its derivative do. */
export function oneLessSquare<T extends Tensor>(x: T): T {
  const far = greater(abs(x), 0.5);
  return where(far, mul(sub(1, x), add(x, 1)), sub(1, square(x)));
}

/**
 * Multiplies by a power of two, where the hypotenuse of `x` and `y` would be infinite, or denormal with too few
 * digits to divide by: that of what comes out is neither.
 */
export function towardsOne<T extends Tensor>(x: T, y: T): (z: T) => T {
  const [least, most, power] =
    x.type.dtype === 'float64' ? [2 ** -960, 2 ** 1000, 2 ** 120] : [2 ** -100, 2 ** 120, 2 ** 60];
  const isShort = logicalAnd(less(abs(x), least), less(abs(y), least));
  const isLong = logicalOr(greater(abs(x), most), greater(abs(y), most));
  return (z) => where(isShort, mul(z, power), where(isLong, mul(z, 1 / power), z));
}
