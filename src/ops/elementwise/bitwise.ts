import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type OperatorFunction, type Sample, tensor } from '../declare/declare.js';
import {
  callOf,
  example,
  inEitherOrder,
  integerDTypes,
  type Law,
  type LawCase,
} from '../declare/law.js';
import type { Binary, Unary } from '../signatures.js';
import { filledLike, isFilledWith, broadcastLike } from '../uniform.js';
import { binaryOperator, unaryOperator } from './point.js';

const samples: readonly Sample[] = [
  { args: [tensor(['n', 2], { dtype: 'int32', low: -99, high: 99 }), tensor([2], { dtype: 'uint8', low: 0, high: 255 })] },
  { args: [tensor(['n'], { dtype: 'int64', low: -99, high: 99 }), 6] },
  { args: [tensor(['n'], { dtype: 'bool' }), tensor(['n'], { dtype: 'bool' })] },
]; // prettier-ignore

const whole = [tensor(['n', 2], { dtype: 'int32', low: -99, high: 99 })];

/** `f(x, x)` is `x`. */
const withItself = (words: string, build: LawCase['build']): Law => ({
  name: 'with-itself',
  law: words,
  cases: [example(whole, build, integerDTypes)],
  apply: ({ inputs: [x, y] }) => (x === y ? x : null),
});

/** `f(x, 0)` is `x`. */
const withZero = (words: string, build: LawCase['build']): Law => ({
  name: 'neutral',
  law: words,
  cases: [example(whole, build, integerDTypes)],
  apply: ({ inputs, type }) =>
    inEitherOrder(inputs, (x, y) => (isFilledWith(y, 0) ? broadcastLike(x, type) : null)),
});

const shiftByZero = (words: string, build: LawCase['build']): Law => ({
  name: 'shift-by-zero',
  law: words,
  cases: [example(whole, build, integerDTypes)],
  apply: ({ inputs: [x, y], type }) => (isFilledWith(y, 0) ? broadcastLike(x, type) : null),
});

/** The bits set in both. Integers and bool. */
export const bitwiseAnd: OperatorFunction<Binary> = binaryOperator({
  name: 'bitwiseAnd',
  domain: 'integer or bool',
  value: (x, y) => e.and(x, y),
  gradient: 'none',
  simplify: [
    withItself('x & x = x', (x) => bitwiseAnd(x, x)),
    {
      name: 'and-zero',
      law: 'x & 0 = 0',
      cases: [example(whole, (x) => bitwiseAnd(x, 0), integerDTypes)],
      apply: ({ inputs, type }) =>
        inEitherOrder(inputs, (x, y) => (isFilledWith(y, 0) ? filledLike(0, type, x) : null)),
    },
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
    withItself('x | x = x', (x) => bitwiseOr(x, x)),
    withZero('x | 0 = x', (x) => bitwiseOr(0, x)),
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
    withZero('x ^ 0 = x', (x) => bitwiseXor(x, 0)),
    {
      name: 'xor-itself',
      law: 'x ^ x = 0',
      cases: [example(whole, (x) => bitwiseXor(x, x), integerDTypes)],
      apply: ({ inputs: [x, y], type }) => (x === y ? filledLike(0, type, x) : null),
    },
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
    {
      name: 'not-not',
      law: '~~x = x',
      cases: [example(whole, (x) => bitwiseNot(bitwiseNot(x)), integerDTypes)],
      apply: ({ inputs: [x] }) => callOf(x, bitwiseNot)?.inputs[0] ?? null,
    },
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
  simplify: [shiftByZero('x << 0 = x', (x) => leftShift(x, 0))],
  samples: shiftSamples,
});

/** `x >> y` of integers, keeping the sign; a count of at least the width, or below 0, gives 0 or -1. */
export const rightShift: OperatorFunction<Binary> = binaryOperator({
  name: 'rightShift',
  domain: 'integer',
  value: (x, y) => e.shr(x, e.select(withinWidth(y), y, y.type.scalar === 'i64' ? 63 : 31)),
  gradient: 'none',
  simplify: [shiftByZero('x >> 0 = x', (x) => rightShift(x, 0))],
  samples: shiftSamples,
});
