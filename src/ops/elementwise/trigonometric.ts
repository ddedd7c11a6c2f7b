import * as e from '../../loop/build.js';
import type { Expr } from '../../loop/nodes.js';
import { type OperatorFunction, tensor } from '../declare.js';
import type { Unary } from '../signatures.js';
import { add, div, mul, neg, square, sub } from './arithmetic.js';
import { equal } from './comparison.js';
import { cosine, sine, sineOfHalfTurns, sineRatio, tangent } from './expressions/trigonometric.js';
import { exactProduct } from './format.js';
import { unary } from './point.js';
import { where } from './selection.js';

const samples = [
  { args: [tensor(['n', 3], { low: -10, high: 10 })] },
  { args: [tensor(['n'], { dtype: 'int32' })] },
];

/** The sine of an angle in radians; NaN for infinite ones. Integers become float32. */
export const sin: OperatorFunction<Unary> = unary({
  name: 'sin',
  operands: 'float',
  value: sine,
  gradient: (g, x) => mul(g, cos(x)),
  onnx: 'Sin',
  samples,
});

/** The cosine of an angle in radians; NaN for infinite ones. Integers become float32. */
export const cos: OperatorFunction<Unary> = unary({
  name: 'cos',
  operands: 'float',
  value: cosine,
  gradient: (g, x) => neg(mul(g, sin(x))),
  onnx: 'Cos',
  samples,
});

/** The tangent of an angle in radians; NaN for infinite ones. Integers become float32. */
export const tan: OperatorFunction<Unary> = unary({
  name: 'tan',
  operands: 'float',
  value: tangent,
  gradient: (g, _x, y) => mul(g, add(square(y), 1)),
  onnx: 'Tan',
  samples: [{ args: [tensor(['n', 3], { low: -1.4, high: 1.4 })] }, samples[1]],
});

/** NumPy's sinc, `sin(pi x) / (pi x)`, and 1 at 0. Integers become float32. */
export const sinc: OperatorFunction<Unary> = unary({
  name: 'sinc',
  operands: 'float',
  value: (x) => {
    const wide = e.cast('f64', x);
    const divisor = e.mul(wide, Math.PI);
    const turned = e.div(sineOfHalfTurns(x), divisor);
    const far = x.type.scalar === 'f32' ? turned : correctedQuotient(wide, turned, divisor);
    const value = e.select(e.lt(e.abs(wide), 0.25), sineRatio(divisor, x), far);
    return e.cast(x.type.scalar, value);
  },
  gradient: (g, x, y) => {
    const atZero = equal(x, 0);
    const slope = div(sub(cos(mul(x, Math.PI)), y), where(atZero, 1, x));
    return mul(g, where(atZero, 0, slope));
  },
  samples: [
    { args: [tensor(['n', 3], { low: 0.1, high: 3 })] },
    { args: [tensor(['n'], { dtype: 'int32' })] },
  ],
});

/** A quotient by the rounded product of pi with `x`, with what rounding has changed put right. */
function correctedQuotient(x: Expr, quotient: Expr, divisor: Expr): Expr {
  const [, rounded] = exactProduct(x, e.constant('f64', Math.PI));
  const error = e.add(rounded, e.mul(x, piError));
  const corrected = e.sub(quotient, e.mul(quotient, e.div(error, divisor)));
  // Beyond, the sine is 0, and the product may overflow.
  return e.select(e.lt(e.abs(x), 2 ** 53), corrected, quotient);
}

/** pi less its double. */
const piError = 1.2246467991473532e-16;
