import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { asNumber, before, hostOnly, isNumberArray, op, step, unary } from '../../../../src/front/converted/values/numbers.js'; // prettier-ignore

const signs = ['+', '-', '*', '/', '%', '**', '<', '<=', '>', '>=', '==', '===', '!=', '!=='];

/** The operator as the engine has it. */
function javaScript(sign: string): (a: unknown, b: unknown) => unknown {
  return new Function('a', 'b', `return a ${sign} b`) as (a: unknown, b: unknown) => unknown;
}

const number = (value: number | boolean, dtype: kn.DType): kn.NDArray =>
  asNumber(kn.array(value, { dtype }));

/** A number of the user's as JavaScript has it. */
function read(value: unknown): unknown {
  return value instanceof kn.NDArray ? value.item() : value;
}

test("operators on values of the host are JavaScript's", () => {
  const values = [3, -2, 2.5, 0, NaN, '7', 'a', true, null, undefined, {}];
  for (const sign of signs) {
    for (const a of values) {
      for (const b of values) {
        assert.deepEqual(
          op(sign, a, b),
          javaScript(sign)(a, b),
          `${String(a)} ${sign} ${String(b)}`,
        );
      }
    }
  }
  assert.throws(() => op('??', 1, 2), kn.InternalError);
});

test('operators on numbers that are arrays give what they give on the numbers', () => {
  for (const sign of signs) {
    for (const [a, b] of [
      [7, 3],
      [-7, 3],
      [7, -3],
      [-7, -3],
      [6, 3],
      [3, 3],
      [2, -2],
    ]) {
      // prettier-ignore
      const expected = javaScript(sign)(a, b);
      for (const dtype of ['int32', 'float32'] as const) {
        for (const [x, y] of [
          [number(a, dtype), number(b, dtype)],
          [a, number(b, dtype)],
          [number(a, dtype), b],
        ]) {
          // prettier-ignore
          const found = op(sign, x, y);
          assert.ok(isNumberArray(found));
          const value = Number(read(found));
          assert.ok(Math.abs(value - Number(expected)) < 1e-6 * Math.abs(Number(expected)) + 1e-12, `${a} ${sign} ${b}, ${dtype}: ${value}`); // prettier-ignore
          assert.equal(found.dtype === 'bool', typeof expected === 'boolean');
        }
      }
    }
  }
});

test('a power is whole where the exponent certainly is none that gives a fraction', () => {
  const base = number(2, 'int32');
  assert.equal((op('**', base, 3) as kn.NDArray).dtype, 'int32');
  assert.equal((op('**', base, 0) as kn.NDArray).dtype, 'int32');
  assert.equal(read(op('**', base, -1)), 0.5);
  assert.equal(read(op('**', 2, number(-2, 'int32'))), 0.25);
  assert.equal(read(op('**', base, 0.5)), Math.fround(Math.SQRT2));
  assert.equal(read(op('**', number(true, 'bool'), number(-2, 'int32'))), 1);
});

test('what is no number stays to JavaScript, beside a number that is an array', () => {
  const one = number(1, 'int32');
  assert.equal(op('===', one, 'one'), false);
  assert.equal(op('!==', one, null), true);
  assert.equal(op('===', one, kn.array(1)), false);
});

test('booleans take part as the numbers 0 and 1, large numbers as floats', () => {
  assert.equal(read(op('+', number(2, 'int32'), true)), 3);
  assert.equal(read(op('-', false, number(2, 'int32'))), -2);
  const large = op('+', number(1, 'int32'), 2 ** 31) as kn.NDArray;
  assert.equal(large.dtype, 'float32');
  assert.equal(large.item(), 2 ** 31);
  assert.equal((op('+', number(1, 'int32'), -(2 ** 31) + 1) as kn.NDArray).dtype, 'int32');
  // Negative zero is none of the integers.
  assert.ok(Object.is(read(op('*', number(1, 'float32'), -0)), -0));
});

test('signs, steps and the value before a step', () => {
  assert.equal(read(unary('-', number(2, 'int32'))), -2);
  const two = number(2, 'int32');
  assert.equal(unary('+', two), two);
  assert.equal(unary('-', 2), -2);
  assert.equal(unary('+', '3'), 3);
  assert.equal(read(step(two, 1)), 3);
  assert.equal(read(step(two, -1)), 1);
  assert.equal(step(2, 1), 3);
  assert.equal(step('2', -1), 1);
  for (const [value, by, old, next] of [
    [two, 1, 2, 3],
    [two, -1, 2, 1],
    [5, 1, 5, 6],
    ['5', -1, 5, 4],
  ] as const) {
    // prettier-ignore
    let now: unknown;
    assert.equal(read(before(value, by, (each) => (now = each))), old);
    assert.equal(read(now), next);
  }
});

test('only the host can use an index: the error says what to use in its place', () => {
  assert.equal(hostOnly('key', 'a.ts:1:1'), 'key');
  const plain = kn.array(1);
  assert.equal(hostOnly(plain, 'a.ts:1:1'), plain);
  const advice: readonly (readonly [use: string | undefined, advice: RegExp])[] = [
    [undefined, /index an array with it/],
    ['an argument of Math.random', /index an array with it/],
  ];
  for (const [use, expected] of advice) {
    assert.throws(() => hostOnly(number(1, 'int32'), 'a.ts:1:1', use), (error) => {
      assert.ok(error instanceof kn.TraceError);
      assert.match(error.message, new RegExp(`is ${(use ?? 'an index or a part of a text')}`));
      assert.match(error.message, expected);
      return true;
    }); // prettier-ignore
  }
});
