/** Terms of gradients, written in operators, that more than one file of functions needs. */
import type { Tensor } from '../../ir/types.js';
import { add, mul, square, sub } from './arithmetic.js';
import { greater } from './comparison.js';
import { exp } from './exponential.js';
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
