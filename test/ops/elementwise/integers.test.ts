import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DType } from '../../../src/base/dtype.js';
import { DTypeError } from '../../../src/base/errors.js';
import { Program, type Value } from '../../../src/ir/program.js';
import * as ops from '../../../src/ops/elementwise/index.js';
import { generator } from '../../support/samples.js';
import { apply, elements, vector } from './support.js';

/*
 * Integer arithmetic against BigInt, wrapped to the width of the dtype, on every pair of interesting
 * numbers and on random ones.
 */

const integers = {
  uint8: [8, false], int8: [8, true], int32: [32, true], int64: [64, true],
} as const satisfies Partial<Record<DType, readonly [number, boolean]>>; // prettier-ignore
type Integer = keyof typeof integers;

function wrap(dtype: Integer, value: bigint): bigint {
  const [bits, signed] = integers[dtype];
  return signed ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
}

function pairs(dtype: Integer): readonly [bigint[], bigint[]] {
  const [bits, signed] = integers[dtype];
  const top = 1n << BigInt(signed ? bits - 1 : bits);
  const low = signed ? -top : 0n;
  const random = generator(bits);
  const numbers = [0n, 1n, 2n, 3n, 7n, -1n, -2n, -5n, low, low + 1n, top - 1n, top - 2n, top / 3n]
    .filter((x) => x >= low && x < top)
    .concat(Array.from({ length: 8 }, () => wrap(dtype, BigInt(Math.floor(random() * 2 ** 50)))));
  return [numbers.flatMap((x) => numbers.map(() => x)), numbers.flatMap(() => numbers)];
}

const floorDiv = (x: bigint, y: bigint): bigint => {
  if (y === 0n) return 0n;
  const quotient = x / y;
  return x % y !== 0n && x < 0n !== y < 0n ? quotient - 1n : quotient;
};
const power = (x: bigint, y: bigint): bigint => {
  if (y < 0n) return x === 1n ? 1n : x === -1n ? (y % 2n === 0n ? 1n : -1n) : 0n;
  let result = 1n;
  for (let factor = x, rest = y; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = BigInt.asIntN(64, result * factor);
    factor = BigInt.asIntN(64, factor * factor);
  }
  return result;
};
const shiftRight = (x: bigint, y: bigint): bigint => x >> (y < 0n || y > 64n ? 64n : y);
const shiftLeft = (x: bigint, y: bigint): bigint => (y < 0n || y >= 64n ? 0n : x << y);

const binary: Record<string, (x: bigint, y: bigint) => bigint> = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  floorDivide: floorDiv,
  mod: (x, y) => (y === 0n ? 0n : x - floorDiv(x, y) * y),
  fmod: (x, y) => (y === 0n ? 0n : x % y),
  pow: power,
  maximum: (x, y) => (x > y ? x : y),
  minimum: (x, y) => (x < y ? x : y),
  fmax: (x, y) => (x > y ? x : y),
  bitwiseAnd: (x, y) => x & y,
  bitwiseOr: (x, y) => x | y,
  bitwiseXor: (x, y) => x ^ y,
  leftShift: shiftLeft,
  rightShift: shiftRight,
};
const unary: Record<string, (x: bigint) => bigint> = {
  neg: (x) => -x,
  abs: (x) => (x < 0n ? -x : x),
  sign: (x) => (x < 0n ? -1n : x > 0n ? 1n : 0n),
  square: (x) => x * x,
  positive: (x) => x,
  bitwiseNot: (x) => ~x,
  floor: (x) => x,
  round: (x) => x,
  relu: (x) => (x < 0n ? 0n : x),
};

type Fn = (...values: Value[]) => Value;
const named = (name: string): Fn => (ops as unknown as Record<string, Fn>)[name];

for (const dtype of Object.keys(integers) as Integer[]) {
  const [xs, ys] = pairs(dtype);
  const [left, right] = [vector(dtype, xs), vector(dtype, ys)];
  for (const [name, exact] of Object.entries(binary)) {
    test(`${name} of ${dtype} is exact, wraps and never traps`, () => {
      const got = elements(apply(named(name), left, right));
      xs.forEach((x, i) => {
        assert.equal(BigInt(got[i]), wrap(dtype, exact(x, ys[i])), `${name}(${x}, ${ys[i]})`);
      });
    });
  }
  for (const [name, exact] of Object.entries(unary)) {
    test(`${name} of ${dtype} is exact`, () => {
      const got = elements(apply(named(name), left));
      xs.forEach((x, i) => assert.equal(BigInt(got[i]), wrap(dtype, exact(x)), `${name}(${x})`));
    });
  }
  test(`comparisons of ${dtype} are exact`, () => {
    const compare: Record<string, (x: bigint, y: bigint) => boolean> = {
      equal: (x, y) => x === y,
      notEqual: (x, y) => x !== y,
      less: (x, y) => x < y,
      lessEqual: (x, y) => x <= y,
      greater: (x, y) => x > y,
      greaterEqual: (x, y) => x >= y,
    };
    for (const [name, exact] of Object.entries(compare)) {
      const result = apply(named(name), left, right);
      assert.equal(result.storage.dtype, 'bool');
      assert.deepEqual(elements(result), xs.map((x, i) => exact(x, ys[i]))); // prettier-ignore
    }
  });
}

test('intermediate results of narrow integers wrap before they are used', () => {
  const x = vector('uint8', [250, 3]);
  const y = vector('uint8', [10, 4]);
  assert.deepEqual(elements(apply((a, b) => ops.less(ops.add(a, b), a), x, y)), [true, false]);
  assert.deepEqual(elements(apply((a, b) => ops.floorDivide(ops.mul(a, b), b), x, y)), [19, 3]);
  const z = vector('int8', [100, -128]);
  assert.deepEqual(elements(apply((a) => ops.greater(ops.add(a, a), 0), z)), [false, false]);
});

test('plain whole exponents give exact integer powers', () => {
  const x = vector('int32', [-3, 0, 7, 46341]);
  assert.deepEqual(elements(apply((v) => ops.pow(v, 2), x)), [9, 0, 49, 46341 ** 2 - 2 ** 32]);
  assert.deepEqual(elements(apply((v) => ops.pow(v, 0), x)), [1, 1, 1, 1]);
  assert.deepEqual(elements(apply((v) => ops.pow(v, 5), vector('int64', [-11n]))), [-161051n]);
  assert.deepEqual(elements(apply((v) => ops.pow(v, -1), vector('int32', [-1, 1, 2, 0]))), [-1, 1, 0, 0]); // prettier-ignore
});

test('logic takes any dtype, and bool has its own arithmetic', () => {
  const p = vector('bool', [false, false, true, true]);
  const q = vector('bool', [false, true, false, true]);
  const check = (f: Fn, wanted: boolean[]): void => {
    const result = apply(f, p, q);
    assert.equal(result.storage.dtype, 'bool');
    assert.deepEqual(elements(result), wanted);
  };
  check(ops.logicalAnd, [false, false, false, true]);
  check(ops.logicalOr, [false, true, true, true]);
  check(ops.logicalXor, [false, true, true, false]);
  check((x) => ops.logicalNot(x), [true, true, false, false]);
  check(ops.add, [false, true, true, true]);
  check(ops.mul, [false, false, false, true]);
  check(ops.maximum, [false, true, true, true]);
  check(ops.less, [false, true, false, false]);
  check(ops.pow, [true, false, true, true]);
  check(ops.bitwiseXor, [false, true, true, false]);
  check((x) => ops.bitwiseNot(x), [true, true, false, false]);
  check((x) => ops.square(x), [false, false, true, true]);
  const mixed = apply(
    ops.logicalOr,
    vector('float32', [0, -0, NaN]),
    vector('int64', [0n, 5n, 0n]),
  );
  assert.deepEqual(elements(mixed), [false, true, true]);
});

test('operators refuse the dtypes they are not defined for', () => {
  const program = new Program();
  const bool = program.variable('bool', { dtype: 'bool', shape: [2] });
  const float = program.variable('float', { dtype: 'float32', shape: [2] });
  for (const refused of [
    () => ops.sub(bool, bool), () => ops.neg(bool), () => ops.mod(bool, bool),
    () => ops.bitwiseAnd(float, float), () => ops.bitwiseNot(float), () => ops.leftShift(bool, bool),
    () => ops.rightShift(float, 1), () => ops.relu(bool),
  ]) assert.throws(refused, DTypeError); // prettier-ignore
});
