import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { converted } from '../../../source/convert.js';

/* To TypeScript a number that captured code has as an array is a number: operators give what they give eagerly. */

type Main = (x: kn.NDArray, test: kn.NDArray) => kn.NDArray;

/** A function of `x` in which `n` is 2 where the test holds, and `m` 1.5. */
const choosing = (expression: string): Main =>
  converted(`function main(x, test, kn) { 'use graph';
    let n = 3, m = 0.5, b = false; if (test) { n = 2; m = 1.5; b = true; }
    return ${expression}; }`) as unknown as Main;

function assertEqualToEager(expression: string, dtype: kn.DType): void {
  const f = choosing(expression) as (x: kn.NDArray, test: kn.NDArray, library: typeof kn) => kn.NDArray; // prettier-ignore
  const hybrid = kn.hybridize((x: kn.NDArray, test: kn.NDArray) => f(x, test, kn));
  const x = kn.array([1, 2, 0, 3], { dtype });
  for (const value of [true, false]) {
    const expected = f(x, kn.array(value), kn);
    const found = hybrid(x, kn.array(value));
    const what = `${expression} for ${dtype}, ${value}`;
    assert.equal(found.dtype, expected.dtype, what);
    assert.deepEqual(found.tolist(), expected.tolist(), what);
  }
}

const integers = ['x.add(n)', 'kn.sub(n, x)', 'x.mul(n)', 'x.mod(n)', 'x.floorDivide(n)', 'kn.maximum(x, n)', 'kn.where(x.greater(1), x, n)', 'kn.clip(x, 0, n)', 'x.mul(n + 1)', 'x.less(n)']; // prettier-ignore
const fractions = integers.map((text) => text.replaceAll('n + 1', 'm * 2').replace(/\bn\b/, 'm'));
const made = ['kn.array(n)', 'kn.array(b)', 'kn.array([n, m])', 'kn.array([[n, 1], [m, 2]])', "kn.array([n, 7], { dtype: 'int32' })", 'kn.array([b, true])', 'kn.full([2], n)', 'kn.full([1, 2], m)', "kn.full([2], n, { dtype: 'int8' })", 'kn.full([2], b)', 'kn.array([n, m], { shape: [2, 1] })']; // prettier-ignore

const alone = ['kn.where(x.greater(1), n, 0)', 'kn.where(x.greater(1), true, n)', 'kn.where(x.greater(1), m, n)', 'kn.where(b, n, x.less(1))', 'kn.add(n, 2)', 'kn.pow(2, n)', 'kn.sub(n, m)', 'kn.abs(n)', 'kn.stack([n, n])', 'x.less(1).mul(n)', 'kn.add(x.less(1), n + 1)', 'kn.less(n, m)', 'kn.array(n + 1).add(n)']; // prettier-ignore

/** Arrays of numbers, and whether the dtype holds them. */
const held: readonly (readonly [string, boolean])[] = [
  ["kn.array(m, { dtype: 'int32' })", false],
  ["kn.array(m * 2, { dtype: 'int32' })", true],
  ["kn.array([m, n], { dtype: 'int64' })", false],
  ["kn.full([2], m, { dtype: 'uint8' })", false],
  ["kn.array(m / 0, { dtype: 'int32' })", false],
  ["kn.array(m * 2 ** 31 - 2 ** 30, { dtype: 'int32' })", false],
  ["kn.array(m * -(2 ** 31) + 2 ** 30, { dtype: 'int32' })", true],
  ["kn.array(n * 128, { dtype: 'uint8' })", false],
  ["kn.array(n - 3, { dtype: 'uint8' })", false],
  ["kn.array(n * 100, { dtype: 'uint8' })", true],
  ["kn.array(n * 100, { dtype: 'int8' })", false],
];

test('a number is weak beside arrays of floats', () => {
  for (const dtype of ['float16', 'bfloat16', 'float32', 'float64'] as const) {
    for (const expression of [...integers, ...fractions]) assertEqualToEager(expression, dtype);
  }
});

test('a whole number is weak beside arrays of integers, a fraction is not', () => {
  for (const dtype of ['int32', 'int64'] as const) {
    for (const expression of integers) assertEqualToEager(expression, dtype);
    assertEqualToEager('x.mul(m)', dtype);
  }
});

test('arrays are made of numbers as of those of the host', () => {
  for (const expression of made) assertEqualToEager(expression, 'float32');
});

test('among numbers, and beside truth values, a number is as weak', () => {
  for (const expression of alone) assertEqualToEager(expression, 'float32');
});

test('a number that a dtype cannot hold is refused when the graph runs', () => {
  for (const [text, isHeld] of held) {
    const f = choosing(text) as (x: kn.NDArray, test: kn.NDArray, library: typeof kn) => kn.NDArray; // prettier-ignore
    const hybrid = kn.hybridize((x: kn.NDArray, test: kn.NDArray) => f(x, test, kn));
    const [x, test] = [kn.array([1]), kn.array(true)];
    if (isHeld) assert.deepEqual(hybrid(x, test).tolist(), f(x, test, kn).tolist(), text);
    else {
      assert.throws(() => f(x, test, kn), kn.KaonError, text);
      assert.throws(() => hybrid(x, test), { name: 'CheckError', message: /a number is not a value of/ }, text); // prettier-ignore
    }
  }
});

test('a state keeps its dtype where numbers are added to it', () => {
  const f = converted(`function main(x, limit) { 'use graph';
    let rate = 1;
    while (x.less(limit)) { x = x.mul(2).add(rate); rate *= 0.5; }
    return x; }`) as unknown as (x: kn.NDArray, limit: kn.NDArray) => kn.NDArray;
  const [x, limit] = [1, 20].map((value) => kn.array(value, { dtype: 'float16' }));
  const found = kn.hybridize(f)(x, limit);
  assert.equal(found.dtype, 'float16');
  assert.equal(found.item(), f(x, limit).item());
});

test('what only a known number serves is refused with what it was given', () => {
  const refusals: readonly (readonly [text: string, kind: typeof kn.KaonError, message: RegExp])[] = [
    ['x.add([3, 2].indexOf(n))', kn.TraceError, /number that a captured array decides is looked for by indexOf/],
    ['x.add(new Map([[2, 1]]).get(n) ?? 0)', kn.TraceError, /looked for by get/],
    ['x.add(new Set([2]).has(n) ? 1 : 0)', kn.TraceError, /looked for by has/],
    ['x.add(Number(n.toFixed(1)))', kn.TraceError, /written by toFixed/],
    ['x.add([1, 2].filter((k) => n === k).length)', kn.TraceError, /is tested by filter[^]*write a loop/],
    ['x.add([x, x].some((v) => !v.any()) ? 1 : 0)', kn.TraceError, /is tested by some/],
    ['kn.linspace(0, n, 3)', kn.ArgumentError, /a number that a captured array decides, which has no value yet/],
    ['x.slice(m)', kn.ArgumentError, /`i \| 0` for a number/],
    ['kn.zeros([n])', kn.ArgumentError, /zeros: shape .*\n.*\n.*a number that a captured array decides/],
  ]; // prettier-ignore
  for (const [expression, kind, message] of refusals) {
    const f = choosing(expression) as (x: kn.NDArray, test: kn.NDArray, library: typeof kn) => kn.NDArray; // prettier-ignore
    const hybrid = kn.hybridize((x: kn.NDArray, test: kn.NDArray) => f(x, test, kn));
    assert.throws(
      () => hybrid(kn.ones([4]), kn.array(true)),
      (error) => {
        assert.ok(error instanceof kind, `${expression}: ${String(error)}`);
        assert.match(error.message, message, expression);
        return true;
      },
    );
  }
});

test('methods that look for other values, and of other objects, are called as they are', () => {
  const f = converted(`function main(x, test) { 'use graph';
    let n = 3; if (test) n = 2;
    const shelf = { has(k) { return k; } };
    return x.add([1, 2].includes(2) ? 1 : 0).add(shelf.has(n)).add(new Map([[1, 5]]).get(1))
      .add([4, 5].find((k) => k > 4)).add([1, 2].every(function (k) { return k < this.most; }, { most: 3 }) ? 1 : 0); }`) as unknown as Main;
  assert.deepEqual(
    kn
      .hybridize(f)(kn.zeros([1]), kn.array(true))
      .tolist(),
    [14],
  );
});

test('a recursion that only an array would end is refused, also where the stack ends first', () => {
  const f = converted(`function main(x, step) { 'use graph';
    const down = (y, pad) => { if (y.less(0)) return y; return [y].map((z) => down(z.sub(step), [...pad, 1]))[0]; };
    return down(x, []); }`) as unknown as Main;
  assert.throws(
    () => kn.hybridize(f)(kn.array(3), kn.array(1)),
    (error) => error instanceof kn.TraceError && /nested without end/.test(error.message),
  );
});
