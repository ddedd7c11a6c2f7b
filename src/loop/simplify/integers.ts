import * as e from '../language/build.js';
import type { BinaryOp, Scalar } from '../language/nodes.js';
import { type ExprLaw, law } from './pattern.js';

const integers: readonly Scalar[] = ['i32', 'i64'];
const numbers: readonly Scalar[] = ['f32', 'f64', 'i32', 'i64'];
const bits: readonly Scalar[] = ['i32', 'i64', 'bool'];
const all: readonly Scalar[] = [...numbers, 'bool'];

const negations: readonly [BinaryOp, BinaryOp][] = [
  ['lt', 'ge'],
  ['ge', 'lt'],
  ['gt', 'le'],
  ['le', 'gt'],
];

/** Laws of integers modulo a power of two, of bits, and of order. Constants stand on the right. */
export const integerLaws: readonly ExprLaw[] = [
  law('plus-zero', 'x + 0 = x.', integers, (x) => [e.add(x, 0), x]),
  law('minus-zero', 'x - 0 = x.', integers, (x) => [e.sub(x, 0), x]),
  law('minus-self', 'x - x = 0.', integers, (x, _, t) => [e.sub(x, x), e.constant(t, 0)]),
  law('times-zero', 'x * 0 = 0.', integers, (x, _, t) => [e.mul(x, 0), e.constant(t, 0)]),
  law('times-one', 'x * 1 = x.', integers, (x) => [e.mul(x, 1), x]),
  law('times-minus-one', 'x * -1 = -x.', integers, (x) => [e.mul(x, -1), e.neg(x)]),
  law('neg-neg', '-(-x) = x.', integers, (x) => [e.neg(e.neg(x)), x]),
  law('minus-neg', 'y - (-x) = y + x.', integers, (x, y) => [e.sub(y, e.neg(x)), e.add(y, x)]),
  law('over-one', 'x / 1 = x.', integers, (x) => [e.div(x, 1), x]),
  law('remainder-one', 'x % 1 = 0.', integers, (x, _, t) => [e.rem(x, 1), e.constant(t, 0)]),
  law('shl-zero', 'x << 0 = x.', integers, (x) => [e.shl(x, 0), x]),
  law('shr-zero', 'x >> 0 = x.', integers, (x) => [e.shr(x, 0), x]),
  law('shrU-zero', 'x >>> 0 = x.', integers, (x) => [e.shrU(x, 0), x]),
  law('and-self', 'x & x = x.', bits, (x) => [e.and(x, x), x]),
  law('or-self', 'x | x = x.', bits, (x) => [e.or(x, x), x]),
  law('xor-self', 'x ^ x = 0.', bits, (x, _, t) => [e.xor(x, x), e.constant(t, 0)]),
  law('and-zero', 'x & 0 = 0.', bits, (x, _, t) => [e.and(x, 0), e.constant(t, 0)]),
  law('or-zero', 'x | 0 = x.', bits, (x) => [e.or(x, 0), x]),
  law('xor-zero', 'x ^ 0 = x.', bits, (x) => [e.xor(x, 0), x]),
  law('and-ones', 'x & -1 = x.', integers, (x) => [e.and(x, -1), x]),
  law('or-ones', 'x | -1 = -1.', integers, (x, _, t) => [e.or(x, -1), e.constant(t, -1)]),
  law('and-true', 'x & true = x.', ['bool'], (x) => [e.and(x, 1), x]),
  law('or-true', 'x | true = true.', ['bool'], (x) => [e.or(x, 1), e.constant('bool', 1)]),
  law('xor-true', 'x ^ true = not x.', ['bool'], (x) => [e.xor(x, 1), e.not(x)]),
  law('equal-true', '(x == true) = x.', ['bool'], (x) => [e.eq(x, 1), x]),
  law('equal-false', '(x == false) = not x.', ['bool'], (x) => [e.eq(x, 0), e.not(x)]),
  law('unequal-false', '(x != false) = x.', ['bool'], (x) => [e.ne(x, 0), x]),
  law('unequal-true', '(x != true) = not x.', ['bool'], (x) => [e.ne(x, 1), e.not(x)]),
  law('not-not', 'not not x = x.', bits, (x) => [e.not(e.not(x)), x]),
  law('min-self', 'min(x, x) = x.', numbers, (x) => [e.min(x, x), x]),
  law('max-self', 'max(x, x) = x.', numbers, (x) => [e.max(x, x), x]),
  law('not-equal', 'not (x == y) = (x != y), also for NaN.', all, (x, y) => [
    e.not(e.eq(x, y)),
    e.ne(x, y),
  ]),
  law('not-unequal', 'not (x != y) = (x == y), also for NaN.', all, (x, y) => [
    e.not(e.ne(x, y)),
    e.eq(x, y),
  ]),
  ...negations.map(([op, opposite]) =>
    law(
      `not-${op}`,
      `not (x ${op} y) = (x ${opposite} y): integers are totally ordered, floats are not.`,
      integers,
      (x, y) => [e.not(e.binary(op, x, y)), e.binary(opposite, x, y)],
    ),
  ),
  ...(['eq', 'le', 'ge'] as const).map((op) =>
    law(`${op}-self`, `x ${op} x is true; not for floats, where NaN differs.`, integers, (x) => [
      e.binary(op, x, x),
      e.constant('bool', 1),
    ]),
  ),
  ...(['ne', 'lt', 'gt'] as const).map((op) =>
    law(`${op}-self`, `x ${op} x is false.`, integers, (x) => [
      e.binary(op, x, x),
      e.constant('bool', 0),
    ]),
  ),
];
