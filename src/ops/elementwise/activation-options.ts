import * as attr from '../../base/attributes/attribute.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { inferElementwise } from '../declare/infer.js';
import { elementwise } from '../declare/lowering.js';
import { decay } from './gradient-terms.js';
import { add, mul, neg, square } from './arithmetic.js';
import { greater } from './comparison.js';
import { erfc } from './error-function.js';
import { clip } from './extremum.js';
import { errorComplement, normalProduct } from './expressions/error-function.js';
import { type Constant, cubicLogisticProduct } from './expressions/logistic.js';
import { withPlainForm } from './known.js';
import { exp } from './exponential.js';
import { exponentialMinusOne } from './expressions/exponential.js';
import { bothSides } from './samples.js';
import { where } from './selection.js';
import { sigmoid } from './sigmoid.js';

/** `leakyRelu(x, { slope })`. */
export type LeakyRelu = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  options?: { readonly slope?: number },
) => T;

/** `x` above 0, `slope * x` elsewhere. The default slope is 0.01. Integers become float32. */
export const leakyRelu: OperatorFunction<LeakyRelu> = operator({
  name: 'leakyRelu',
  options: { at: 1, names: ['slope'] },
  family: 'elementwise',
  attributes: { slope: attr.number },
  operands: 'float',
  call: (x, options) => ({ inputs: [x], attributes: { slope: options?.slope ?? 0.01 } }),
  infer: inferElementwise('leakyRelu'),
  gradient: ({ inputs: [x], grads: [g], attributes: { slope } }) => [
    where(greater(x, 0), g!, mul(g!, slope)),
  ],
  lowering: elementwise<{ readonly slope: number }>(([x], { attributes: { slope } }) =>
    e.select(e.gt(x, 0), x, e.mul(x, slope)),
  ),
  onnx: ({ onnx, inputs: [x], attributes: { slope } }) =>
    x.dtype === 'float64' ? null : onnx.node('LeakyRelu', [x], { alpha: { float: slope } }),
  samples: [...bothSides, { args: [tensor(['n'], { low: 0.1 }), { slope: 0.2 }] }],
});

/** `elu(x, { alpha })`. */
export type Elu = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  options?: { readonly alpha?: number },
) => T;

/** `x` above 0, `alpha * (exp(x) - 1)` elsewhere. The default alpha is 1. Integers become float32. */
export const elu: OperatorFunction<Elu> = operator({
  name: 'elu',
  options: { at: 1, names: ['alpha'] },
  family: 'elementwise',
  attributes: { alpha: attr.number },
  operands: 'float',
  call: (x, options) => ({ inputs: [x], attributes: { alpha: options?.alpha ?? 1 } }),
  infer: inferElementwise('elu'),
  gradient: ({ inputs: [x], grads: [g], attributes: { alpha } }) => [
    mul(g!, where(greater(x, 0), 1, mul(decay(x), alpha))),
  ],
  lowering: elementwise<{ readonly alpha: number }>(([x], { attributes: { alpha } }) =>
    e.select(e.gt(x, 0), x, e.mul(exponentialMinusOne(e.min(x, 0)), alpha)),
  ),
  onnx: ({ onnx, inputs: [x], attributes: { alpha } }) =>
    x.dtype === 'float64' ? null : onnx.node('Elu', [x], { alpha: { float: alpha } }),
  samples: [...bothSides, { args: [tensor(['n'], { low: -2, high: -0.1 }), { alpha: 0.5 }] }],
});

/** `gelu(x, { approximate })`. */
export type Gelu = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  options?: { readonly approximate?: 'none' | 'tanh' },
) => T;

/**
 * `x` times the standard normal distribution function of `x` (Hendrycks and Gimpel 2016): exact unless
 * `approximate` is `tanh`, the paper's cheaper form. Integers become float32.
 */
export const gelu: OperatorFunction<Gelu> = operator({
  name: 'gelu',
  options: { at: 1, names: ['approximate'] },
  family: 'elementwise',
  attributes: { approximate: attr.oneOf('none', 'tanh') },
  operands: 'float',
  call: (x, options) => ({
    inputs: [x],
    attributes: { approximate: options?.approximate ?? 'none' },
  }),
  infer: inferElementwise('gelu'),
  gradient: ({ inputs: [x], grads: [g], attributes: { approximate } }) => {
    if (approximate === 'none') {
      return [mul(g!, add(normalCumulative(x), mul(x, normalDensity(x))))];
    }
    const near = clip(x, -saturation, saturation); // cubes of what is beyond are infinite
    const cube = mul(square(near), near);
    const u = mul(add(near, mul(cube, cubic)), steepness);
    const [s, q] = [sigmoid(u), sigmoid(neg(u))]; // 1 - s would have no digits left
    const slope = mul(add(mul(square(near), 3 * cubic), 1), steepness);
    return [mul(g!, add(s, mul(mul(near, slope), mul(s, q))))];
  },
  lowering: elementwise<{ readonly approximate: 'none' | 'tanh' }>(
    ([x], { attributes: { approximate } }) => {
      if (approximate === 'none') {
        return withPlainForm(normalProduct(x), () => {
          const share = e.mul(errorComplement(e.mul(x, -Math.SQRT1_2)), 0.5);
          return e.select(e.eq(x, -Infinity), 0, e.mul(x, share));
        });
      }
      // (1 + tanh u) / 2 is the logistic function of 2u.
      return cubicLogisticProduct(x, exactSteepness, exactCubic);
    },
  ),
  onnx: ({ onnx, inputs: [x], attributes }) => {
    // Before opset 20 there is no operator for it; runtimes fuse this pattern.
    if (onnx.opset >= 20) return onnx.node('Gelu', [x], attributes);
    if (attributes.approximate === 'tanh') return null;
    const scaled = onnx.node('Div', [x, onnx.scalar(x.dtype, Math.SQRT2)]);
    const share = onnx.node('Add', [onnx.node('Erf', [scaled]), onnx.scalar(x.dtype, 1)]);
    return onnx.node('Mul', [onnx.node('Mul', [x, share]), onnx.scalar(x.dtype, 0.5)]);
  },
  samples: [
    ...bothSides,
    ...bothSides.map(({ args }) => ({ args: [...args, { approximate: 'tanh' }] })),
  ],
});

const cubic = 0.044715;
const steepness = 1.5957691216057308;

/** Bound from which the logistic function of the cubic is 0 or 1 in every format. */
const saturation = 64;

/** 2 sqrt(2 / pi), and 0.044715 of it, with twice the digits of a float64. */
const exactSteepness: Constant = [steepness, -9.96930880910912e-17];
const exactCubic: Constant = [0.07135481627260025, -6.175149918155315e-19];

/** The standard normal distribution function. */
function normalCumulative<T extends Tensor>(x: T): T {
  return mul(erfc(mul(x, -Math.SQRT1_2)), 0.5);
}

/** The standard normal density. */
function normalDensity<T extends Tensor>(x: T): T {
  return mul(exp(mul(square(x), -0.5)), 1 / Math.sqrt(2 * Math.PI));
}
