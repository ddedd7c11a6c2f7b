import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type OperatorFunction, tensor } from '../declare/declare.js';
import type { Unary } from '../signatures.js';
import { add, div, mul, neg, square } from './arithmetic.js';
import { greater, less } from './comparison.js';
import { decay } from './gradient-terms.js';
import {
  exponential,
  exponentialMinusOne,
  exponentialParts,
  leastArgument,
} from './expressions/exponential.js';
import { logicalAnd } from './logic.js';
import { scaledBy } from './format.js';
import { withPlainForm } from './known.js';
import { realFunction, unaryOperator } from './point.js';
import { bothSides } from './samples.js';
import { where } from './selection.js';
import { sigmoid } from './sigmoid.js';
import { abs } from './sign.js';

/** Activations without options; those with options are in `activation-options.ts`. */

/** `max(x, 0)`, integers too. The gradient at 0 is 0. */
export const relu: OperatorFunction<Unary> = unaryOperator({
  name: 'relu',
  domain: 'number',
  value: (x) => e.max(x, 0),
  gradient: (g, _x, y) => where(greater(y, 0), g, 0),
  onnx: 'Relu',
  samples: bothSides,
});

/** `min(max(x, 0), 6)`, integers too. The gradient at 0 and 6 is 0. */
export const relu6: OperatorFunction<Unary> = unaryOperator({
  name: 'relu6',
  domain: 'number',
  value: (x) => e.min(e.max(x, 0), 6),
  gradient: (g, _x, y) => where(logicalAnd(greater(y, 0), less(y, 6)), g, 0),
  samples: bothSides,
});

/** `x / (1 + abs(x))`. Integers become float32. */
export const softsign: OperatorFunction<Unary> = realFunction({
  name: 'softsign',
  value: (x) => {
    // An equivalent form that handles infinities.
    const inverse = e.div(1, e.abs(x));
    const far = e.div(e.select(e.gt(x, 0), e.constant(x.type.scalar, 1), -1), e.add(inverse, 1));
    return e.select(e.gt(e.abs(x), 1), far, e.div(x, e.add(e.abs(x), 1)));
  },
  gradient: (g, x) => div(g, square(add(abs(x), 1))),
  onnx: 'Softsign',
  samples: bothSides,
});

/** `x` times the hyperbolic tangent of `softplus(x)` (Misra 2019). Integers become float32. */
export const mish: OperatorFunction<Unary> = realFunction({
  name: 'mish',
  value: (x) => {
    // With w = e^x, the tangent of log(1 + w) is w (w + 2) / (w (w + 2) + 2), 1 beyond the bound.
    const { value, excess, powers } = exponentialParts(e.min(x, 20));
    const square = e.mul(value, scaledBy(value, powers));
    const dividend = e.add(e.add(e.add(excess, excess), square), 2);
    const n = scaledBy(dividend, powers);
    const isNegative = e.lt(x, 0);
    // For negative x the power of two is applied last, so that denormals are rounded once.
    const tangent = e.div(e.select(isNegative, dividend, n), e.add(n, 2));
    const product = e.mul(e.max(x, leastArgument(x)), tangent);
    return withPlainForm(e.select(isNegative, scaledBy(product, powers), product), () => {
      const plain = exponential(e.min(x, 20));
      const part = e.mul(plain, e.add(plain, 2));
      return e.select(e.eq(x, -Infinity), 0, e.mul(x, e.div(part, e.add(part, 2))));
    });
  },
  gradient: (g, x) => {
    // With q = 1 / (1 + e^x) the tangent is (1 - q^2) / (1 + q^2), and 1 less its square (2 q / (1 + q^2))^2.
    const [s, q] = [sigmoid(x), sigmoid(neg(x))];
    const whole = add(square(q), 1);
    const tangent = div(mul(s, add(q, 1)), whole);
    return mul(g, add(tangent, mul(mul(x, s), square(div(mul(q, 2), whole)))));
  },
  onnx: ({ onnx, inputs: [x] }) => (onnx.opset < 18 ? null : onnx.node('Mish', [x])),
  samples: bothSides,
});

/** `relu6(x + 3) / 6`. Integers become float32. */
export const hardSigmoid: OperatorFunction<Unary> = realFunction({
  name: 'hardSigmoid',
  value: hardLogistic,
  gradient: (g, x) => where(insideBend(x), mul(g, 1 / 6), 0),
  samples: [
    { args: [tensor(['n', 3], { low: -2.9, high: 2.9 })] },
    { args: [tensor(['n', 3], { low: 3.1, high: 4 })] },
  ],
});

/** `x * hardSigmoid(x)`. Integers become float32. */
export const hardSwish: OperatorFunction<Unary> = realFunction({
  name: 'hardSwish',
  value: (x) => e.select(e.le(x, -3), 0, e.mul(x, hardLogistic(x))),
  gradient: (g, x) => {
    const bent = add(mul(x, 1 / 3), 0.5);
    return where(insideBend(x), mul(g, bent), where(greater(x, 0), g, 0));
  },
  // HardSwish has a float32 slope.
  onnx: ({ onnx, inputs: [x] }) => (x.dtype === 'float64' ? null : onnx.node('HardSwish', [x])),
  samples: [
    { args: [tensor(['n', 3], { low: -2.9, high: 2.9 })] },
    { args: [tensor(['n', 3], { low: 3.1, high: 4 })] },
  ],
});

/** Scaled exponential units (Klambauer et al. 2017): `elu` with fixed scales. Integers become float32. */
export const selu: OperatorFunction<Unary> = realFunction({
  name: 'selu',
  value: (x) =>
    e.select(e.gt(x, 0), e.mul(x, seluScale), e.mul(exponentialMinusOne(e.min(x, 0)), seluScale * seluAlpha)), // prettier-ignore
  // Computed from `x`: result and limit cancel.
  gradient: (g, x) => mul(g, where(greater(x, 0), seluScale, mul(decay(x), seluScale * seluAlpha))),
  // Selu has float32 scales.
  onnx: ({ onnx, inputs: [x] }) => (x.dtype === 'float64' ? null : onnx.node('Selu', [x])),
  samples: bothSides,
});

const seluAlpha = 1.6732632423543772;
const seluScale = 1.0507009873554805;

const insideBend = <T extends Parameters<typeof abs>[0]>(x: T): T =>
  logicalAnd(greater(x, -3), less(x, 3)) as T;

function hardLogistic(x: Expr): Expr {
  return e.mul(e.min(e.max(e.add(x, 3), 0), 6), 1 / 6);
}
