import type { Value } from '../../ir/program.js';
import * as e from '../../loop/language/build.js';
import { isFloat } from '../../base/dtype.js';
import { type Conversion, type OperatorFunction, type Sample, tensor } from '../declare/declare.js';
import {
  callOf,
  example,
  inEitherOrder,
  integerDTypes,
  type Law,
  type LawCase,
  numericDTypes,
} from '../declare/law.js';
import type { Binary, Unary } from '../signatures.js';
import { filledLike, isFilledWith, broadcastLike } from '../uniform.js';
import { equal, greater, greaterEqual, less, lessEqual, notEqual } from './comparison.js';
import { binaryOperator, unaryOperator } from './point.js';

/** Logic converts its operands to bool (`x != 0`, so NaN is true) and returns bool. */

const toBool: Conversion = (operands) => operands.map(() => 'bool');

const samples: readonly Sample[] = [
  { args: [tensor(['n', 2], { dtype: 'bool' }), tensor([2], { dtype: 'bool' })] },
  { args: [tensor(['n'], { dtype: 'int32', low: 0, high: 1 }), tensor(['n'])] },
];

const bools = [tensor(['n', 2], { dtype: 'bool' })];

/** `f(x, x)` is `x`. */
const withItself = (words: string, build: LawCase['build']): Law => ({
  name: 'with-itself',
  law: words,
  cases: [example(bools, build)],
  apply: ({ inputs: [x, y] }) => (x === y ? x : null),
});

/** `f(x, c)` is `x` for one constant. */
const neutral = (words: string, constant: number, build: LawCase['build']): Law => ({
  name: 'neutral',
  law: words,
  cases: [example(bools, build)],
  apply: ({ inputs, type }) =>
    inEitherOrder(inputs, (x, y) => (isFilledWith(y, constant) ? broadcastLike(x, type) : null)),
});

/** `f(x, c)` is `c` for one constant. */
const absorbing = (words: string, constant: number, build: LawCase['build']): Law => ({
  name: 'absorbing',
  law: words,
  cases: [example(bools, build)],
  apply: ({ inputs, type }) =>
    inEitherOrder(inputs, (x, y) =>
      isFilledWith(y, constant) ? filledLike(constant, type, x) : null,
    ),
});

/** Logical and, as bool. For other dtypes, any value but 0 is true. */
export const logicalAnd: OperatorFunction<Binary> = binaryOperator({
  name: 'logicalAnd',
  operands: toBool,
  value: (x, y) => e.and(x, y),
  gradient: 'none',
  simplify: [
    withItself('x and x = x', (x) => logicalAnd(x, x)),
    neutral('x and true = x', 1, (x) => logicalAnd(x, true)),
    absorbing('x and false = false', 0, (x) => logicalAnd(false, x)),
  ],
  samples,
});

/** Logical or, as bool. For other dtypes, any value but 0 is true. */
export const logicalOr: OperatorFunction<Binary> = binaryOperator({
  name: 'logicalOr',
  operands: toBool,
  value: (x, y) => e.or(x, y),
  gradient: 'none',
  simplify: [
    withItself('x or x = x', (x) => logicalOr(x, x)),
    neutral('x or false = x', 0, (x) => logicalOr(x, false)),
    absorbing('x or true = true', 1, (x) => logicalOr(true, x)),
  ],
  samples,
});

/** Logical exclusive or, as bool. For other dtypes, any value but 0 is true. */
export const logicalXor: OperatorFunction<Binary> = binaryOperator({
  name: 'logicalXor',
  operands: toBool,
  value: (x, y) => e.xor(x, y),
  gradient: 'none',
  simplify: [
    neutral('x xor false = x', 0, (x) => logicalXor(x, false)),
    {
      name: 'xor-itself',
      law: 'x xor x = false',
      cases: [example(bools, (x) => logicalXor(x, x))],
      apply: ({ inputs: [x, y], type }) => (x === y ? filledLike(0, type, x) : null),
    },
    {
      name: 'xor-true',
      law: 'x xor true = not x',
      cases: [example(bools, (x) => logicalXor(x, true))],
      apply: ({ inputs, type }) =>
        inEitherOrder(inputs, (x, y) =>
          isFilledWith(y, 1) ? broadcastLike(logicalNot(x), type) : null,
        ),
    },
  ],
  samples,
});

/** Logical not: true where `x` is false. */
export const logicalNot: OperatorFunction<Unary> = unaryOperator({
  name: 'logicalNot',
  operands: toBool,
  value: (x) => e.not(x),
  gradient: 'none',
  simplify: [
    {
      name: 'not-not',
      law: 'not not x = x',
      cases: [example(bools, (x) => logicalNot(logicalNot(x)))],
      apply: ({ inputs: [x] }) => callOf(x, logicalNot)?.inputs[0] ?? null,
    },
    {
      name: 'not-equal',
      law: 'not (x == y) = (x != y), not (x != y) = (x == y), also for NaN',
      cases: [
        example([tensor(['n', 3]), tensor([3])], (x, y) => logicalNot(equal(x, y)), numericDTypes),
        example(
          [tensor(['n', 3]), tensor([3])],
          (x, y) => logicalNot(notEqual(x, y)),
          numericDTypes,
        ),
      ],
      apply: ({ inputs: [x] }) => opposite(x, [[equal, notEqual]]),
    },
    {
      name: 'not-order',
      law: 'not (x < y) = (x >= y) and so on of integers and bool; all are false for NaN',
      cases: [
        example([tensor(['n', 3]), tensor([3])], (x, y) => logicalNot(less(x, y)), integerDTypes),
        example(
          [tensor(['n', 3]), tensor([3])],
          (x, y) => logicalNot(greaterEqual(x, y)),
          integerDTypes,
        ),
        example(
          [tensor(['n', 3]), tensor([3])],
          (x, y) => logicalNot(greater(x, y)),
          integerDTypes,
        ),
        example(
          [tensor(['n', 3]), tensor([3])],
          (x, y) => logicalNot(lessEqual(x, y)),
          integerDTypes,
        ),
      ],
      apply: ({ inputs: [x] }) =>
        opposite(
          x,
          [
            [less, greaterEqual],
            [greater, lessEqual],
          ],
          (operand) => !isFloat(operand.type.dtype),
        ),
    },
  ],
  samples: samples.map(({ args }) => ({ args: args.slice(0, 1) })),
});

/** The comparison that negates `x`, by pairs of opposites. */
function opposite(
  x: Value,
  pairs: readonly (readonly [OperatorFunction<Binary>, OperatorFunction<Binary>])[],
  fits: (operand: Value) => boolean = () => true,
): Value | null {
  for (const [one, other] of pairs) {
    for (const [comparison, contrary] of [
      [one, other],
      [other, one],
    ]) {
      const found = callOf(x, comparison);
      if (found !== null && fits(found.inputs[0]))
        return contrary(found.inputs[0], found.inputs[1]);
    }
  }
  return null;
}
