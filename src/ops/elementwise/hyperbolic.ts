import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type OperatorFunction, tensor } from '../declare/declare.js';
import type { Unary } from '../signatures.js';
import { add, div, mul, square, sub } from './arithmetic.js';
import { moderateExponentialMinusOne, scaledExponential } from './expressions/exponential.js';
import { formatOf } from './format.js';
import { logarithm, logarithmOfOnePlus } from './expressions/logarithm.js';
import { oneLessSquare } from './gradient-terms.js';
import { realFunction } from './point.js';
import { anywhere } from './samples.js';
import { hypot, rsqrt } from './root.js';

/*
 * Hyperbolic functions and their inverses from `exponentialMinusOne` and `logarithmOfOnePlus`, which keep
 * their accuracy near 0 (after fdlibm 1993). Within 3 ulp.
 */

/** The hyperbolic sine. Integers become float32. */
export const sinh: OperatorFunction<Unary> = realFunction({
  name: 'sinh',
  value: (x) => {
    const magnitude = e.abs(x);
    const t = moderateExponentialMinusOne(e.min(magnitude, 1));
    const near = e.mul(e.add(t, e.div(t, e.add(t, 1))), 0.5);
    const half = scaledExponential(magnitude, -1);
    const far = e.sub(half, e.div(0.25, half));
    return odd(x, e.select(e.gt(magnitude, 1), far, near));
  },
  gradient: (g, x) => mul(g, cosh(x)),
  onnx: 'Sinh',
  samples: anywhere,
});

/** The hyperbolic cosine. Integers become float32. */
export const cosh: OperatorFunction<Unary> = realFunction({
  name: 'cosh',
  value: (x) => {
    const half = scaledExponential(e.abs(x), -1);
    return e.add(half, e.div(0.25, half));
  },
  gradient: (g, x) => mul(g, sinh(x)),
  onnx: 'Cosh',
  samples: anywhere,
});

/** The hyperbolic tangent. Integers become float32. */
export const tanh: OperatorFunction<Unary> = realFunction({
  name: 'tanh',
  value: (x) => {
    // Beyond the bound the result rounds to 1.
    const magnitude = e.min(e.abs(x), formatOf(x).pick(10, 20));
    const t = moderateExponentialMinusOne(e.add(magnitude, magnitude));
    return odd(x, e.div(t, e.add(t, 2)));
  },
  gradient: (g, _x, y) => mul(g, sub(1, square(y))),
  onnx: 'Tanh',
  samples: anywhere,
});

/** The inverse of `sinh`. Integers become float32. */
export const asinh: OperatorFunction<Unary> = realFunction({
  name: 'asinh',
  value: (x) => {
    const format = formatOf(x);
    const magnitude = e.abs(x);
    const large = e.gt(magnitude, 1 / format.epsilon);
    const moderate = e.min(magnitude, 1 / format.epsilon);
    const z = e.mul(moderate, moderate);
    const excess = e.add(moderate, e.div(z, e.add(e.sqrt(e.add(z, 1)), 1)));
    return odd(x, e.select(large, doubleLogarithm(magnitude), logarithmOfOnePlus(excess)));
  },
  gradient: (g, x) => div(g, hypot(x, 1)),
  onnx: 'Asinh',
  samples: anywhere,
});

/** The inverse of `cosh`, at least 0; NaN below 1. Integers become float32. */
export const acosh: OperatorFunction<Unary> = realFunction({
  name: 'acosh',
  value: (x) => {
    const limit = 1 / formatOf(x).epsilon;
    const t = e.sub(e.min(x, limit), 1);
    const near = logarithmOfOnePlus(e.add(t, e.sqrt(e.add(e.add(t, t), e.mul(t, t)))));
    return e.select(e.gt(x, limit), doubleLogarithm(x), e.select(e.lt(x, 1), NaN, near));
  },
  // In two factors, of which one is NaN outside of the domain.
  gradient: (g, x) => mul(g, mul(rsqrt(sub(x, 1)), rsqrt(add(x, 1)))),
  onnx: 'Acosh',
  samples: [
    { args: [tensor(['n', 3], { low: 1.1, high: 9 })] },
    { args: [tensor(['n'], { dtype: 'int32', low: 2, high: 9 })] },
  ],
});

/** The inverse of `tanh`; infinite at -1 and 1, NaN beyond. Integers become float32. */
export const atanh: OperatorFunction<Unary> = realFunction({
  name: 'atanh',
  value: (x) => {
    const magnitude = e.abs(x);
    const ratio = e.div(e.add(magnitude, magnitude), e.sub(1, magnitude));
    return odd(x, e.mul(logarithmOfOnePlus(ratio), 0.5));
  },
  gradient: (g, x) => div(g, oneLessSquare(x)),
  onnx: 'Atanh',
  samples: [
    { args: [tensor(['n', 3], { low: -0.9, high: 0.9 })] },
    { args: [tensor([1], { dtype: 'int32', low: 0, high: 0 })] },
  ],
});

/** An odd function, given its value at the magnitude of `x`, which is not negative. */
function odd(x: Expr, value: Expr): Expr {
  return formatOf(x).signed(value, x);
}

/** log(2 x) without overflow. */
function doubleLogarithm(x: Expr): Expr {
  return e.add(logarithm(x), Math.LN2);
}
