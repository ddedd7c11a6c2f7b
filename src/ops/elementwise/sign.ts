import { isFloat } from '../../base/dtype.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type OperatorFunction, tensor } from '../declare/declare.js';
import { callOf, example, floatDTypes, numericDTypes } from '../declare/law.js';
import type { Binary, Unary } from '../signatures.js';
import { mul, neg, square } from './arithmetic.js';
import { equal } from './comparison.js';
import { formatOf } from './format.js';
import { binaryOperator, unaryOperator } from './point.js';
import { where } from './selection.js';

/** `|x|`. The least integer of a dtype is its own magnitude. The gradient at 0 is 0. */
export const abs: OperatorFunction<Unary> = unaryOperator({
  name: 'abs',
  value: (x) => (x.type.scalar === 'bool' ? x : e.abs(x)),
  gradient: (g, x) => mul(g, sign(x)),
  simplify: [
    {
      name: 'abs-of-even',
      law: 'abs(-x) = abs(x)',
      cases: [
        example([tensor(['n', 3])], (x) => abs(neg(x)), ['int8', 'int32', 'int64', ...floatDTypes]),
      ],
      apply: ({ inputs: [x], type }) => {
        const negated = type.dtype === 'uint8' ? null : callOf(x, neg);
        return negated && abs(negated.inputs[0]);
      },
    },
    {
      name: 'abs-of-magnitude',
      law: 'abs(abs(x)) = abs(x), abs(square(x)) = square(x) of floats, abs(x) = x of uint8 and bool',
      cases: [
        example([tensor(['n', 3])], (x) => abs(abs(x)), numericDTypes),
        example([tensor(['n', 3])], (x) => abs(square(x)), floatDTypes),
        example([tensor(['n'], { dtype: 'uint8', low: 0, high: 255 })], (x) => abs(x)),
        example([tensor(['n'], { dtype: 'bool' })], (x) => abs(x)),
      ],
      apply: ({ inputs: [x], type: { dtype } }) => {
        const isMagnitude =
          dtype === 'uint8' ||
          dtype === 'bool' ||
          callOf(x, abs) !== null ||
          (isFloat(dtype) && callOf(x, square) !== null);
        return isMagnitude ? x : null;
      },
    },
  ],
  samples: [
    { args: [tensor(['n', 2], { low: 0.1 })] },
    { args: [tensor(['n', 2], { low: -2, high: -0.1 })] },
    { args: [tensor(['n'], { dtype: 'int8' })] },
  ],
});

/** -1, 0 or 1 with the sign of `x`; 0 for both zeros, NaN for NaN. */
export const sign: OperatorFunction<Unary> = unaryOperator({
  name: 'sign',
  value: (x) => (x.type.scalar === 'bool' ? x : signOf(x)),
  gradient: 'zero',
  onnx: 'Sign',
  simplify: [
    {
      name: 'sign-sign',
      law: 'sign(sign(x)) = sign(x)',
      cases: [example([tensor(['n', 3])], (x) => sign(sign(x)), numericDTypes)],
      apply: ({ inputs: [x] }) => (callOf(x, sign) === null ? null : x),
    },
  ],
  samples: [
    { args: [tensor(['n', 2], { low: 0.1 })] },
    { args: [tensor(['n'], { dtype: 'int32' })] },
  ],
});

function signOf(x: Expr): Expr {
  // The last select keeps NaN and turns -0 into 0.
  return e.select(e.gt(x, 0), 1, e.select(e.lt(x, 0), -1, e.select(e.eq(x, 0), 0, x)));
}

/**
 * The magnitude of `x` with the sign of `y`, also where `y` is a zero. NaN counts as positive: its sign on a
 * processor depends on the order of operands, which equivalent code may change.
 */
export const copysign: OperatorFunction<Binary> = binaryOperator({
  name: 'copysign',
  operands: 'float',
  value: (x, y) => formatOf(x).withSignOf(x, e.select(e.eq(y, y), y, 1)),
  // 0 at x = 0, as for abs.
  gradient: [(g, x, y) => mul(g, mul(sign(x), copysign(1, y))), 'zero'],
  samples: [
    { args: [tensor(['n', 2], { low: 0.1 }), tensor([2], { low: -2, high: -0.1 })] },
    { args: [tensor(['n'], { low: -2, high: -0.1 }), 1] },
  ],
});

/** 0 below zero, `middle` at zero, 1 above; NaN for NaN. */
export const heaviside: OperatorFunction<Binary> = binaryOperator({
  name: 'heaviside',
  domain: 'number',
  value: (x, middle) =>
    e.select(e.gt(x, 0), e.constant(x.type.scalar, 1), e.select(e.lt(x, 0), 0, e.select(e.eq(x, 0), middle, x))), // prettier-ignore
  gradient: ['zero', (g, x) => where(equal(x, 0), g, 0)],
  samples: [
    { args: [tensor(['n', 2], { low: 0.1 }), 0.5] },
    { args: [tensor(['n'], { dtype: 'int32' }), tensor([], { dtype: 'int32' })] },
  ],
});
