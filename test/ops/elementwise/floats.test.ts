import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Program, type Value } from '../../../src/ir/program.js';
import * as ops from '../../../src/ops/elementwise/index.js';
import { ShapeError } from '../../../src/base/errors.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { generator } from '../../support/samples.js';
import { apply, elements, type Float, map, vector } from './support.js';

const special = [
  NaN, Infinity, -Infinity, 0, -0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 2.5, 1e30, -1e30, 2 ** -149, 1e300, 5e-324,
]; // prettier-ignore

/** Every pair of special values and random ones of many magnitudes, as numbers of the dtype. */
function pairs(dtype: Float): readonly [number[], number[]] {
  const round = dtype === 'float32' ? Math.fround : (x: number): number => x;
  const random = generator(11);
  const any = (): number => (random() - 0.5) * 2 ** (random() * 60 - 30);
  const [xs, ys] = [special.flatMap((x) => special.map(() => x)), special.flatMap(() => special)];
  for (let i = 0; i < 800; i++) {
    xs.push(any());
    ys.push(any());
  }
  return [xs.map(round), ys.map(round)];
}

function compare(
  dtype: Float,
  f: (x: Value, y: Value) => Value,
  exact: (x: number, y: number) => number,
  relative = 0,
): void {
  const round = dtype === 'float32' ? Math.fround : (x: number): number => x;
  const [xs, ys] = pairs(dtype);
  map(f, dtype, xs, ys).forEach((got, i) => {
    const wanted = round(exact(xs[i], ys[i]));
    const near = wanted !== 0 && Math.abs(got - wanted) <= relative * Math.abs(wanted);
    assert.ok(Object.is(got, wanted) || near, `(${xs[i]}, ${ys[i]}) gives ${wanted}, not ${got}`);
  });
}

/** Python's remainder, from JavaScript's exact one. */
function remainder(x: number, y: number): number {
  const rest = x % y;
  if (rest === 0) return y < 0 || Object.is(y, -0) ? -0 : 0;
  return rest < 0 !== y < 0 ? rest + y : rest;
}

/** NumPy's floor_divide. */
function quotient(x: number, y: number): number {
  if (y === 0) return x / y;
  const rest = x % y;
  let whole = (x - rest) / y;
  if (rest !== 0 && rest < 0 !== y < 0) whole -= 1;
  if (whole === 0) return x / y < 0 || Object.is(x / y, -0) ? -0 : 0;
  return whole - Math.floor(whole) > 0.5 ? Math.floor(whole) + 1 : Math.floor(whole);
}

/** IEEE 754's pow: JavaScript's differs where it says NaN for a base of one. */
function power(x: number, y: number): number {
  if (x === 1 || (x === -1 && Math.abs(y) === Infinity)) return 1;
  return x ** y;
}

const within = { float32: 1e-7, float64: 4e-16 } as const;

for (const dtype of ['float32', 'float64'] as const) {
  const inReach = (x: number, y: number): boolean =>
    !(Math.abs(x / y) >= 2 ** 80) || x === 0 || !Number.isFinite(x) || y === 0;
  test(`${dtype}: arithmetic is IEEE's`, () => {
    compare(dtype, ops.add, (x, y) => x + y);
    compare(dtype, ops.sub, (x, y) => x - y);
    compare(dtype, ops.mul, (x, y) => x * y);
    compare(dtype, ops.div, (x, y) => x / y);
    compare(dtype, (x) => ops.neg(x), (x) => -x); // prettier-ignore
    compare(dtype, (x) => ops.reciprocal(x), (x) => 1 / x); // prettier-ignore
    compare(dtype, (x) => ops.square(x), (x) => x * x); // prettier-ignore
  });
  test(`${dtype}: remainders and floored quotients are exact, each with its sign`, () => {
    const round = dtype === 'float32' ? Math.fround : (x: number): number => x;
    const [xs, ys] = pairs(dtype);
    for (const [f, exact] of [
      [ops.mod, remainder],
      [ops.floorDivide, quotient],
      [ops.fmod, (x: number, y: number) => x % y],
    ] as const) {
      const got = map(f, dtype, xs, ys);
      xs.forEach((x, i) => {
        if (!inReach(x, ys[i])) return;
        const wanted = round(exact(x, ys[i]));
        assert.ok(Object.is(got[i], wanted), `(${x}, ${ys[i]}) gives ${wanted}, not ${got[i]}`);
      });
    }
  });
  test(`${dtype}: pow is IEEE's within an ulp`, () => {
    compare(dtype, ops.pow, power, within[dtype]);
    for (const exponent of [-4, -2, -1, 0, 0.5, 1, 2, 3, 4, 7, -0.5, 2.5, -9]) {
      compare(dtype, (x) => ops.pow(x, exponent), (x) => power(x, exponent), 4 * within[dtype]); // prettier-ignore
    }
  });
  test(`${dtype}: extrema spread NaN, order zeros, or ignore NaN`, () => {
    compare(dtype, ops.maximum, Math.max);
    compare(dtype, ops.minimum, Math.min);
    const ignoring = (f: typeof Math.max) => (x: number, y: number) =>
      Number.isNaN(x) ? y : Number.isNaN(y) ? x : f(x, y);
    compare(dtype, ops.fmax, ignoring(Math.max));
    compare(dtype, ops.fmin, ignoring(Math.min));
  });
  test(`${dtype}: distances and angles`, () => {
    compare(dtype, ops.hypot, Math.hypot, 2 * within[dtype]);
    compare(dtype, ops.atan2, Math.atan2, 2 * within[dtype]);
    compare(dtype, ops.copysign, (x, y) => Math.abs(x) * (y < 0 || Object.is(y, -0) ? -1 : 1));
    compare(dtype, ops.heaviside, (x, y) => (x > 0 ? 1 : x < 0 ? 0 : x === 0 ? y : NaN));
  });
}

test('the sign of NaN is no sign: it depends on how the NaN was made', () => {
  const bits = new Uint32Array([0x7fc00000, 0xffc00000, 0x7fc00001, 0xffc00001]);
  const nans = { storage: new Storage('float32', new Float32Array(bits.buffer)), shape: [4] };
  const xs = vector('float32', [-2, -2, 2, 2]);
  assert.deepEqual(elements(apply(ops.copysign, xs, nans)), [2, 2, 2, 2]);
});

test('rounding sends halves to even numbers and keeps what is whole', () => {
  const xs = [0.5, 1.5, 2.5, -0.5, -1.5, 2.4999, 1e20, NaN, -Infinity];
  assert.deepEqual(map(ops.round, 'float64', xs), [0, 2, 2, -0, -2, 2, 1e20, NaN, -Infinity]);
});

test('classification', () => {
  const x = vector('float32', [1, NaN, Infinity, -Infinity]);
  assert.deepEqual(elements(apply(ops.isNaN, x)), [false, true, false, false]);
  assert.deepEqual(elements(apply(ops.isFinite, x)), [true, false, false, false]);
  assert.deepEqual(elements(apply(ops.isInf, x)), [false, false, true, true]);
  const whole = vector('int32', [3]);
  assert.deepEqual(elements(apply(ops.isNaN, whole)), [false]);
  assert.deepEqual(elements(apply(ops.isFinite, whole)), [true]);
});

test('every comparison with NaN is false, but inequality', () => {
  const [x, y] = [vector('float64', [NaN, 1, NaN]), vector('float64', [NaN, NaN, 1])];
  for (const f of [ops.equal, ops.less, ops.lessEqual, ops.greater, ops.greaterEqual]) {
    assert.deepEqual(elements(apply(f, x, y)), [false, false, false]);
  }
  assert.deepEqual(elements(apply(ops.notEqual, x, y)), [true, true, true]);
});

test('clip bounds on either side, on both or on none; the upper bound wins', () => {
  const xs = [-5, 0, 5, NaN];
  assert.deepEqual(map((x) => ops.clip(x, -1, 2), 'float32', xs), [-1, 0, 2, NaN]); // prettier-ignore
  assert.deepEqual(map((x) => ops.clip(x, null, 2), 'float32', xs), [-5, 0, 2, NaN]); // prettier-ignore
  assert.deepEqual(map((x) => ops.clip(x, -1, null), 'float32', xs), [-1, 0, 5, NaN]); // prettier-ignore
  assert.deepEqual(map((x) => ops.clip(x, null, null), 'float32', xs), xs); // prettier-ignore
  assert.deepEqual(map((x) => ops.clip(x, 3, 1), 'float32', xs), [1, 1, 1, NaN]); // prettier-ignore
});

test('nanToNum replaces by the ends of the dtype, or by what is given', () => {
  const xs = [NaN, Infinity, -Infinity, 2];
  const top = (2 - 2 ** -23) * 2 ** 127;
  assert.deepEqual(
    map((x) => ops.nanToNum(x), 'float32', xs),
    [0, top, -top, 2],
  );
  const given = { nan: 7, posinf: 8, neginf: 9 };
  assert.deepEqual(map((x) => ops.nanToNum(x, given), 'float64', xs), [7, 8, 9, 2]); // prettier-ignore
  assert.deepEqual(elements(apply((x) => ops.nanToNum(x), vector('float16', xs))), [0, 65504, -65504, 2]); // prettier-ignore
});

test('logaddexp of infinities', () => {
  const [xs, ys] = [[Infinity, -Infinity, -Infinity, 1000, NaN], [Infinity, -Infinity, 3, 1000, 1]]; // prettier-ignore
  assert.deepEqual(map(ops.logaddexp, 'float64', xs, ys), [Infinity, -Infinity, 3, 1000 + Math.LN2, NaN]); // prettier-ignore
});

test('activations at the ends of the line', () => {
  const ends = [-Infinity, Infinity, NaN];
  const limits: [(x: Value) => Value, number[]][] = [
    [ops.sigmoid, [0, 1]], [ops.silu, [0, Infinity]], [ops.softplus, [0, Infinity]], [ops.mish, [0, Infinity]],
    [(x) => ops.gelu(x), [0, Infinity]], [(x) => ops.gelu(x, { approximate: 'tanh' }), [0, Infinity]],
    [ops.softsign, [-1, 1]], [(x) => ops.elu(x), [-1, Infinity]], [ops.relu, [0, Infinity]], [ops.relu6, [0, 6]],
    [ops.hardSigmoid, [0, 1]], [ops.hardSwish, [0, Infinity]], [ops.logSigmoid, [-Infinity, 0]],
    [(x) => ops.leakyRelu(x), [-Infinity, Infinity]], [ops.tanh, [-1, 1]], [ops.erf, [-1, 1]], [ops.erfc, [2, 0]],
  ]; // prettier-ignore
  for (const dtype of ['float32', 'float64'] as const) {
    for (const [f, [left, right]] of limits) {
      assert.deepEqual(map(f, dtype, ends).map((x) => x + 0), [left, right, NaN]); // prettier-ignore
    }
  }
});

test('the tanh form of gelu is the formula of the paper', () => {
  const xs = [-3, -1, -0.1, 0, 0.7, 4];
  const got = map((x) => ops.gelu(x, { approximate: 'tanh' }), 'float64', xs);
  xs.forEach((x, i) => {
    const u = Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3);
    assert.ok(Math.abs(got[i] - 0.5 * x * (1 + Math.tanh(u))) < 1e-15);
  });
});

test('shapes broadcast, sizes 0 and 1 included, and others are refused', () => {
  const program = new Program();
  const of = (name: string, ...shape: number[]): Value =>
    program.variable(name, { dtype: 'float32', shape });
  assert.deepEqual(ops.add(of('a', 3, 1), of('b', 1, 4)).type.shape, [3, 4]);
  assert.deepEqual(ops.where(of('c', 2, 1), of('d', 3), 0).type.shape, [2, 3]);
  assert.deepEqual(ops.mul(of('e', 0), of('f', 1)).type.shape, [0]);
  assert.throws(() => ops.add(of('g', 2), of('h', 3)), ShapeError);
  assert.deepEqual(elements(apply(ops.add, vector('float32', []), vector('float32', []))), []);
  assert.deepEqual(elements(apply(ops.add, vector('float32', []), vector('float32', [1]))), []);
});
