import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type OperatorFunction, type Sample, tensor } from '../declare/declare.js';
import { example, integerDTypes, type LawCase } from '../declare/law.js';
import type { Binary, Unary } from '../signatures.js';
import { absorbing, constantOnItself, idempotent, involution, neutral } from './laws.js';
import { binaryOperator, unaryOperator } from './point.js';

const samples: readonly Sample[] = [
  { args: [tensor(['n', 2], { dtype: 'int32', low: -99, high: 99 }), tensor([2], { dtype: 'uint8', low: 0, high: 255 })] },
  { args: [tensor(['n'], { dtype: 'int64', low: -99, high: 99 }), 6] },
  { args: [tensor(['n'], { dtype: 'bool' }), tensor(['n'], { dtype: 'bool' })] },
]; // prettier-ignore

const whole = [tensor(['n', 2], { dtype: 'int32', low: -99, high: 99 })];

/** The case of a law for all integers. */
const ofIntegers = (build: LawCase['build']): readonly LawCase[] => [
  example(whole, build, integerDTypes),
];

/** The bits set in both. Integers and bool. */
export const bitwiseAnd: OperatorFunction<Binary> = binaryOperator({
  name: 'bitwiseAnd',
  domain: 'integer or bool',
  value: (x, y) => e.and(x, y),
  gradient: 'none',
  simplify: [
    idempotent(
      'with-itself',
      'x & x = x',
      ofIntegers((x) => bitwiseAnd(x, x)),
    ),
    absorbing(
      'and-zero',
      'x & 0 = 0',
      0,
      ofIntegers((x) => bitwiseAnd(x, 0)),
    ),
  ],
  samples,
});

/** The bits set in either. Integers and bool. */
export const bitwiseOr: OperatorFunction<Binary> = binaryOperator({
  name: 'bitwiseOr',
  domain: 'integer or bool',
  value: (x, y) => e.or(x, y),
  gradient: 'none',
  simplify: [
    idempotent(
      'with-itself',
      'x | x = x',
      ofIntegers((x) => bitwiseOr(x, x)),
    ),
    neutral(
      'neutral',
      'x | 0 = x',
      0,
      ofIntegers((x) => bitwiseOr(0, x)),
    ),
  ],
  samples,
});

/** The bits set in one but not the other. Integers and bool. */
export const bitwiseXor: OperatorFunction<Binary> = binaryOperator({
  name: 'bitwiseXor',
  domain: 'integer or bool',
  value: (x, y) => e.xor(x, y),
  gradient: 'none',
  simplify: [
    neutral(
      'neutral',
      'x ^ 0 = x',
      0,
      ofIntegers((x) => bitwiseXor(x, 0)),
    ),
    constantOnItself(
      'xor-itself',
      'x ^ x = 0',
      0,
      ofIntegers((x) => bitwiseXor(x, x)),
    ),
  ],
  samples,
});

/** Every bit flipped. Integers and bool. */
export const bitwiseNot: OperatorFunction<Unary> = unaryOperator({
  name: 'bitwiseNot',
  domain: 'integer or bool',
  value: (x) => e.not(x),
  gradient: 'none',
  simplify: [
    involution(
      'not-not',
      '~~x = x',
      () => bitwiseNot,
      ofIntegers((x) => bitwiseNot(bitwiseNot(x))),
    ),
  ],
  samples: samples.map(({ args }) => ({ args: args.slice(0, 1) })),
});

const shiftSamples: readonly Sample[] = [
  { args: [tensor(['n', 2], { dtype: 'int32', low: -99, high: 99 }), tensor([2], { dtype: 'int32', low: 0, high: 40 })] },
  { args: [tensor(['n'], { dtype: 'uint8', low: 0, high: 255 }), 3] },
]; // prettier-ignore

/** Hardware takes shift counts modulo the width; NumPy shifts everything out, also for negative counts. */
const withinWidth = (count: Expr): Expr =>
  e.and(e.ge(count, 0), e.lt(count, count.type.scalar === 'i64' ? 64 : 32));

/** `x << y` of integers; a count of at least the width, or below 0, gives 0. */
export const leftShift: OperatorFunction<Binary> = binaryOperator({
  name: 'leftShift',
  domain: 'integer',
  value: (x, y) => e.select(withinWidth(y), e.shl(x, y), 0),
  gradient: 'none',
  simplify: [
    neutral(
      'shift-by-zero',
      'x << 0 = x',
      0,
      ofIntegers((x) => leftShift(x, 0)),
      'second',
    ),
  ],
  samples: shiftSamples,
});

/** `x >> y` of integers, keeping the sign; a count of at least the width, or below 0, gives 0 or -1. */
export const rightShift: OperatorFunction<Binary> = binaryOperator({
  name: 'rightShift',
  domain: 'integer',
  value: (x, y) => e.shr(x, e.select(withinWidth(y), y, y.type.scalar === 'i64' ? 63 : 31)),
  gradient: 'none',
  simplify: [
    neutral(
      'shift-by-zero',
      'x >> 0 = x',
      0,
      ofIntegers((x) => rightShift(x, 0)),
      'second',
    ),
  ],
  samples: shiftSamples,
});
