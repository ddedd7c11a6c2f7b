import { isFloat } from '../../base/dtype.js';
import type { TensorType } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import { type OperatorFunction, tensor } from '../declare/declare.js';
import {
  callOf,
  example,
  floatDTypes,
  inEitherOrder,
  integerDTypes,
  numericDTypes,
} from '../declare/law.js';
import { fullLike } from '../movement/fill.js';
import type { Binary, Unary } from '../signatures.js';
import { isFilledWith, isNeutralOfSum, broadcastLike } from '../uniform.js';
import { absorbing, constantOnItself, idempotent, involution, neutral } from './laws.js';
import { binaryOperator, realFunction, unaryOperator } from './point.js';

const bools = [tensor(['n'], { dtype: 'bool' })];
const isBool = ({ dtype }: TensorType): boolean => dtype === 'bool';

/** `x + y`, elementwise. For bool: logical or. */
export const add: OperatorFunction<Binary> = binaryOperator({
  name: 'add',
  value: (x, y) => (x.type.scalar === 'bool' ? e.or(x, y) : e.add(x, y)),
  gradient: [(g) => g, (g) => g],
  simplify: [
    neutral(
      'plus-zero',
      'x + 0 = x of integers and bool, x + -0 = x of floats: 0 would turn -0 into 0',
      isNeutralOfSum,
      [
        example([tensor(['n', 3])], (x) => add(x, -0), floatDTypes),
        example([tensor(['n', 3])], (x) => add(0, x), integerDTypes),
        example([tensor(['n', 3], { dtype: 'bool' })], (x) => add(x, false)),
        example([tensor([3])], (x) => add(x, fullLike(x, -0, { shape: [2, 3] }))),
      ],
    ),
    {
      name: 'plus-negative',
      law: 'x + (-y) = x - y',
      cases: [
        example([tensor(['n', 3]), tensor([3])], (x, y) => add(x, neg(y)), numericDTypes),
        example([tensor(['n', 3]), tensor([3])], (x, y) => add(neg(x), y), numericDTypes),
      ],
      apply: ({ inputs }) =>
        inEitherOrder(inputs, (x, y) => {
          const negated = callOf(y, neg);
          return negated && sub(x, negated.inputs[0]);
        }),
    },
    idempotent(
      'or-itself',
      'x + x = x of bool, where + is or',
      [example(bools, (x) => add(x, x))],
      isBool,
    ),
  ],
  samples: [
    { args: [tensor(['n', 3]), tensor([3])] },
    { args: [tensor(['n'], { dtype: 'int64' }), 2] },
    { args: [tensor(['n'], { dtype: 'bool' }), tensor(['n'], { dtype: 'bool' })] },
  ],
});

/** `x - y`, elementwise. Not for bool. */
export const sub: OperatorFunction<Binary> = binaryOperator({
  name: 'sub',
  domain: 'number',
  value: (x, y) => e.sub(x, y),
  gradient: [(g) => g, (g) => neg(g)],
  simplify: [
    neutral(
      'minus-zero',
      'x - 0 = x, also for -0; but not x - -0 of floats',
      0,
      [example([tensor(['n', 3])], (x) => sub(x, 0), numericDTypes)],
      'second',
    ),
    {
      name: 'minus-negative',
      law: 'x - (-y) = x + y',
      cases: [example([tensor(['n', 3]), tensor([3])], (x, y) => sub(x, neg(y)), numericDTypes)],
      apply: ({ inputs: [x, y] }) => {
        const negated = callOf(y, neg);
        return negated && add(x, negated.inputs[0]);
      },
    },
    {
      name: 'zero-minus',
      law: '0 - x = -x of integers, -0 - x = -x of floats: 0 - 0 is 0, not -0',
      cases: [
        example([tensor(['n', 3])], (x) => sub(-0, x), floatDTypes),
        example([tensor(['n', 3])], (x) => sub(0, x), integerDTypes),
      ],
      apply: ({ inputs: [x, y], type }) => (isNeutralOfSum(x) ? broadcastLike(neg(y), type) : null),
    },
    constantOnItself(
      'minus-itself',
      'x - x = 0 of integers; of floats NaN and infinities give NaN',
      0,
      [example([tensor(['n', 3])], (x) => sub(x, x), integerDTypes)],
      ({ dtype }) => !isFloat(dtype),
    ),
  ],
  samples: [
    { args: [tensor(['n', 3]), tensor(['n', 1])] },
    { args: [1, tensor(['n'])] },
    { args: [tensor(['n'], { dtype: 'uint8' }), tensor(['n'], { dtype: 'uint8' })] },
  ],
});

/** `x * y`, elementwise. For bool: logical and. */
export const mul: OperatorFunction<Binary> = binaryOperator({
  name: 'mul',
  value: (x, y) => (x.type.scalar === 'bool' ? e.and(x, y) : e.mul(x, y)),
  gradient: [(g, _x, y) => mul(g, y), (g, x) => mul(g, x)],
  simplify: [
    neutral('times-one', 'x * 1 = x', 1, [
      example([tensor(['n', 3])], (x) => mul(x, 1), numericDTypes),
      example([tensor(['n', 3])], (x) => mul(fullLike(x, 1), x), numericDTypes),
      example([tensor(['n', 3], { dtype: 'bool' })], (x) => mul(x, true)),
    ]),
    {
      name: 'times-minus-one',
      law: 'x * -1 = -x',
      cases: [
        example([tensor(['n', 3])], (x) => mul(x, -1), [...floatDTypes, 'int8', 'int32', 'int64']),
      ],
      apply: ({ inputs, type }) =>
        inEitherOrder(inputs, (x, y) => (isFilledWith(y, -1) ? broadcastLike(neg(x), type) : null)),
    },
    absorbing(
      'times-zero',
      'x * 0 = 0 of integers and bool; of floats NaN, infinities and signs differ',
      0,
      [
        example([tensor(['n', 3])], (x) => mul(x, 0), integerDTypes),
        example([tensor(['n', 3], { dtype: 'bool' })], (x) => mul(x, false)),
      ],
      ({ dtype }) => !isFloat(dtype),
    ),
    {
      name: 'negative-times-negative',
      law: '(-x) * (-y) = x * y',
      cases: [
        example([tensor(['n', 3]), tensor([3])], (x, y) => mul(neg(x), neg(y)), numericDTypes),
      ],
      apply: ({ inputs: [x, y] }) => {
        const [a, b] = [callOf(x, neg), callOf(y, neg)];
        return a && b && mul(a.inputs[0], b.inputs[0]);
      },
    },
    idempotent(
      'and-itself',
      'x * x = x of bool, where * is and',
      [example(bools, (x) => mul(x, x))],
      isBool,
    ),
  ],
  samples: [
    { args: [tensor(['n', 3]), tensor([3])] },
    { args: [tensor(['n'], { dtype: 'int32' }), tensor([], { dtype: 'int32' })] },
    { args: [tensor(['n'], { dtype: 'bool' }), tensor(['n'], { dtype: 'bool' })] },
  ],
});

/**
 * `x / y`, elementwise true division. Integers become float32; a zero divisor gives an infinity or NaN. See
 * `floorDivide` for whole quotients.
 */
export const div: OperatorFunction<Binary> = binaryOperator({
  name: 'div',
  operands: 'float',
  value: (x, y) => e.div(x, y),
  gradient: [(g, _x, y) => div(g, y), (g, _x, y, quotient) => neg(mul(g, div(quotient, y)))],
  simplify: [
    neutral(
      'over-one',
      'x / 1 = x',
      1,
      [example([tensor(['n', 3])], (x) => div(x, 1), floatDTypes)],
      'second',
    ),
    {
      name: 'over-minus-one',
      law: 'x / -1 = -x',
      cases: [example([tensor(['n', 3])], (x) => div(x, -1), floatDTypes)],
      apply: ({ inputs: [x, y], type }) =>
        isFilledWith(y, -1) ? broadcastLike(neg(x), type) : null,
    },
    {
      name: 'negative-over-negative',
      law: '(-x) / (-y) = x / y',
      cases: [example([tensor(['n', 3]), tensor([3])], (x, y) => div(neg(x), neg(y)), floatDTypes)],
      apply: ({ inputs: [x, y] }) => {
        const [a, b] = [callOf(x, neg), callOf(y, neg)];
        return a && b && div(a.inputs[0], b.inputs[0]);
      },
    },
  ],
  samples: [
    { args: [tensor(['n', 3]), tensor([3], { low: 0.5 })] },
    { args: [tensor(['n'], { dtype: 'int32' }), tensor(['n'], { dtype: 'int32', low: 1 })] },
    { args: [1, tensor(['n'], { low: -2, high: -0.5 })] },
  ],
});

/** `-x`. Integers wrap: the least int8 is its own negative. Not for bool. */
export const neg: OperatorFunction<Unary> = unaryOperator({
  name: 'neg',
  domain: 'number',
  value: (x) => e.neg(x),
  gradient: (g) => neg(g),
  simplify: [
    involution('negative-negative', '-(-x) = x', () => neg, [
      example([tensor(['n', 3])], (x) => neg(neg(x)), numericDTypes),
    ]),
    {
      name: 'negative-difference',
      law: '-(x - y) = y - x of integers; of floats equal operands give -0 on the left, 0 on the right',
      cases: [example([tensor(['n', 3]), tensor([3])], (x, y) => neg(sub(x, y)), integerDTypes)],
      apply: ({ inputs: [x], type }) => {
        const difference = isFloat(type.dtype) ? null : callOf(x, sub);
        return difference && sub(difference.inputs[1], difference.inputs[0]);
      },
    },
  ],
  samples: [{ args: [tensor(['n', 2])] }, { args: [tensor(['n'], { dtype: 'int8' })] }],
});

/** `+x`: the elements unchanged. Not for bool. */
export const positive: OperatorFunction<Unary> = unaryOperator({
  name: 'positive',
  domain: 'number',
  value: (x) => x,
  gradient: (g) => g,
  simplify: [
    {
      name: 'positive',
      law: '+x = x',
      cases: [example([tensor(['n', 3])], (x) => positive(x), numericDTypes)],
      apply: ({ inputs: [x] }) => x,
    },
  ],
  samples: [{ args: [tensor(['n', 2])] }, { args: [tensor(['n'], { dtype: 'int64' })] }],
});

/** `x * x`. */
export const square: OperatorFunction<Unary> = unaryOperator({
  name: 'square',
  value: (x) => (x.type.scalar === 'bool' ? x : e.mul(x, x)),
  gradient: (g, x) => mul(mul(g, x), 2),
  simplify: [
    {
      name: 'square-negative',
      law: 'square(-x) = square(x)',
      cases: [example([tensor(['n', 3])], (x) => square(neg(x)), numericDTypes)],
      apply: ({ inputs: [x] }) => {
        const negated = callOf(x, neg);
        return negated && square(negated.inputs[0]);
      },
    },
    {
      name: 'square-bool',
      law: 'square(x) = x of bool',
      cases: [example([tensor(['n'], { dtype: 'bool' })], (x) => square(x))],
      apply: ({ inputs: [x], type }) => (type.dtype === 'bool' ? x : null),
    },
  ],
  samples: [{ args: [tensor(['n', 2])] }, { args: [tensor(['n'], { dtype: 'int32' })] }],
});

/** `1 / x`. Integers become float32; 1 / 0 is infinite. */
export const reciprocal: OperatorFunction<Unary> = realFunction({
  name: 'reciprocal',
  value: (x) => e.div(1, x),
  gradient: (g, _x, y) => neg(mul(mul(g, y), y)), // not g times a square beyond the range
  onnx: 'Reciprocal',
  samples: [
    { args: [tensor(['n', 2], { low: 0.5 })] },
    { args: [tensor(['n'], { dtype: 'int32', low: 1, high: 9 })] },
  ],
});

const radian = 180 / Math.PI;

/** Degrees to radians. */
export const deg2rad: OperatorFunction<Unary> = realFunction({
  name: 'deg2rad',
  value: (x) => e.mul(x, 1 / radian),
  gradient: (g) => deg2rad(g),
  samples: [{ args: [tensor(['n'], { low: -360, high: 360 })] }],
});

/** Radians to degrees. */
export const rad2deg: OperatorFunction<Unary> = realFunction({
  name: 'rad2deg',
  value: (x) => e.mul(x, radian),
  gradient: (g) => rad2deg(g),
  samples: [{ args: [tensor(['n'])] }],
});
