import type { Value } from '../../ir/program.js';
import * as e from '../../loop/language/build.js';
import { isFloat } from '../../base/dtype.js';
import { type Conversion, type OperatorFunction, type Sample, tensor } from '../declare/declare.js';
import { callOf, example, inEitherOrder, integerDTypes, numericDTypes } from '../declare/law.js';
import type { Binary, Unary } from '../signatures.js';
import { isFilledWith, broadcastLike } from '../uniform.js';
import { equal, greater, greaterEqual, less, lessEqual, notEqual } from './comparison.js';
import { absorbing, constantOnItself, idempotent, involution, neutral } from './laws.js';
import { binaryOperator, unaryOperator } from './point.js';

/** Logic converts its operands to bool (`x != 0`, so NaN is true) and returns bool. */

const toBool: Conversion = (operands) => operands.map(() => 'bool');

const samples: readonly Sample[] = [
  { args: [tensor(['n', 2], { dtype: 'bool' }), tensor([2], { dtype: 'bool' })] },
  { args: [tensor(['n'], { dtype: 'int32', low: 0, high: 1 }), tensor(['n'])] },
];

const bools = [tensor(['n', 2], { dtype: 'bool' })];
const compared = [tensor(['n', 3]), tensor([3])];

/** Logical and, as bool. For other dtypes, any value but 0 is true. */
export const logicalAnd: OperatorFunction<Binary> = binaryOperator({
  name: 'logicalAnd',
  operands: toBool,
  value: (x, y) => e.and(x, y),
  gradient: 'none',
  simplify: [
    idempotent('with-itself', 'x and x = x', [example(bools, (x) => logicalAnd(x, x))]),
    neutral('neutral', 'x and true = x', 1, [example(bools, (x) => logicalAnd(x, true))]),
    absorbing('absorbing', 'x and false = false', 0, [example(bools, (x) => logicalAnd(false, x))]),
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
    idempotent('with-itself', 'x or x = x', [example(bools, (x) => logicalOr(x, x))]),
    neutral('neutral', 'x or false = x', 0, [example(bools, (x) => logicalOr(x, false))]),
    absorbing('absorbing', 'x or true = true', 1, [example(bools, (x) => logicalOr(true, x))]),
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
    neutral('neutral', 'x xor false = x', 0, [example(bools, (x) => logicalXor(x, false))]),
    constantOnItself('xor-itself', 'x xor x = false', 0, [example(bools, (x) => logicalXor(x, x))]),
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
    involution('not-not', 'not not x = x', () => logicalNot, [
      example(bools, (x) => logicalNot(logicalNot(x))),
    ]),
    {
      name: 'not-equal',
      law: 'not (x == y) = (x != y), not (x != y) = (x == y), also for NaN',
      cases: [
        example(compared, (x, y) => logicalNot(equal(x, y)), numericDTypes),
        example(compared, (x, y) => logicalNot(notEqual(x, y)), numericDTypes),
      ],
      apply: ({ inputs: [x] }) => opposite(x, [[equal, notEqual]]),
    },
    {
      name: 'not-order',
      law: 'not (x < y) = (x >= y) and so on of integers and bool; all are false for NaN',
      cases: [
        example(compared, (x, y) => logicalNot(less(x, y)), integerDTypes),
        example(compared, (x, y) => logicalNot(greaterEqual(x, y)), integerDTypes),
        example(compared, (x, y) => logicalNot(greater(x, y)), integerDTypes),
        example(compared, (x, y) => logicalNot(lessEqual(x, y)), integerDTypes),
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
