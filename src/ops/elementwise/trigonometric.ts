import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type OperatorFunction, tensor } from '../declare/declare.js';
import { fullLike } from '../movement/fill.js';
import type { Unary } from '../signatures.js';
import { add, div, mul, neg, square, sub } from './arithmetic.js';
import { less } from './comparison.js';
import {
  cosineExpr,
  sineExpr,
  sineOfHalfTurns,
  sineRatio,
  tangentExpr,
} from './expressions/trigonometric.js';
import {
  cosineInIntegers,
  sincInIntegers,
  sineInIntegers,
  tangentInIntegers,
} from './expressions/integer-trigonometric.js';
import { exactProduct } from './format.js';
import { isInIntegers } from './expressions/float-bits.js';
import { realFunction } from './point.js';
import { round } from './rounding.js';
import { where } from './selection.js';
import { abs } from './sign.js';

const samples = [
  { args: [tensor(['n', 3], { low: -10, high: 10 })] },
  { args: [tensor(['n'], { dtype: 'int32' })] },
];

/** The sine of an angle in radians; NaN for infinite ones. Integers become float32. */
export const sin: OperatorFunction<Unary> = realFunction({
  name: 'sin',
  value: (x, context) => (isInIntegers(x, context) ? sineInIntegers(x) : sineExpr(x)),
  gradient: (g, x) => mul(g, cos(x)),
  onnx: 'Sin',
  samples,
});

/** The cosine of an angle in radians; NaN for infinite ones. Integers become float32. */
export const cos: OperatorFunction<Unary> = realFunction({
  name: 'cos',
  value: (x, context) => (isInIntegers(x, context) ? cosineInIntegers(x) : cosineExpr(x)),
  gradient: (g, x) => neg(mul(g, sin(x))),
  onnx: 'Cos',
  samples,
});

/** The tangent of an angle in radians; NaN for infinite ones. Integers become float32. */
export const tan: OperatorFunction<Unary> = realFunction({
  name: 'tan',
  value: (x, context) => (isInIntegers(x, context) ? tangentInIntegers(x) : tangentExpr(x)),
  gradient: (g, _x, y) => mul(g, add(square(y), 1)),
  onnx: 'Tan',
  samples: [{ args: [tensor(['n', 3], { low: -1.4, high: 1.4 })] }, samples[1]],
});

/** NumPy's sinc, `sin(pi x) / (pi x)`, and 1 at 0. Integers become float32. */
export const sinc: OperatorFunction<Unary> = realFunction({
  name: 'sinc',
  value: (x, context) => {
    if (isInIntegers(x, context)) return sincInIntegers(x);
    const wide = e.cast('f64', x);
    const divisor = e.mul(wide, Math.PI);
    const turned = e.div(sineOfHalfTurns(x), divisor);
    const far = x.type.scalar === 'f32' ? turned : correctedQuotient(wide, turned, divisor);
    const value = e.select(e.lt(e.abs(wide), 0.25), sineRatio(divisor, x), far);
    return e.cast(x.type.scalar, value);
  },
  gradient: (g, x, y) => {
    // The cosine and the result cancel near 0. Operands of the branch not chosen are harmless.
    const near = less(abs(x), 0.5);
    const far = where(near, 1, x);
    const angle = mul(sub(far, mul(round(mul(far, 0.5)), 2)), Math.PI); // less whole turns, exactly
    return mul(g, where(near, slopeOfSinc(where(near, x, 0)), div(sub(cos(angle), y), far)));
  },
  samples: [
    { args: [tensor(['n', 3], { low: 0.1, high: 3 })] },
    { args: [tensor(['n'], { dtype: 'int32' })] },
  ],
});

/** The derivative of sin(pi x) / (pi x) up to 1/2, by its series, which can be differentiated again. */
function slopeOfSinc<T extends Tensor>(x: T): T {
  const z = square(x);
  const [last, ...others] = slopeSeries.toReversed();
  const sum = others.reduce((value, each) => add(mul(value, z), each), fullLike(z, last));
  return mul(x, sum);
}

/** (-1)^k pi^2k 2k / (2k + 1)! */
const slopeSeries: readonly number[] = Array.from({ length: 12 }, (_, i) => {
  let factor = 1;
  for (let j = 1; j <= i + 1; j++) factor *= -(Math.PI ** 2) / (2 * j * (2 * j + 1));
  return factor * 2 * (i + 1);
});

/** A quotient by the rounded product of pi and `x`, corrected for the rounding error. */
function correctedQuotient(x: Expr, quotient: Expr, divisor: Expr): Expr {
  const [, rounded] = exactProduct(x, e.constant('f64', Math.PI));
  const error = e.add(rounded, e.mul(x, piError));
  const corrected = e.sub(quotient, e.mul(quotient, e.div(error, divisor)));
  // Beyond this the sine is 0, and the product may overflow.
  return e.select(e.lt(e.abs(x), 2 ** 53), corrected, quotient);
}

/** pi minus its double. */
const piError = 1.2246467991473532e-16;
