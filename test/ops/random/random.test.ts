import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import type { DType } from '../../../src/base/dtype.js';
import { fromBFloat16Bits, fromFloat16Bits } from '../../../src/base/element.js';
import { ArgumentError, DTypeError, ShapeError } from '../../../src/base/errors.js';
import { Program, type Value } from '../../../src/ir/program.js';
import {
  randomBits,
  randomInteger,
  randomNormal,
  randomUniform,
} from '../../../src/ops/random/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { evaluate, type Target } from '../../support/evaluate.js';

const stateOf = (seed: bigint, counter: bigint) => ({
  storage: new Storage('int64', BigInt64Array.of(seed, counter)),
  shape: [2],
});

function draw(
  build: (state: Value) => Value,
  { seed = 5n, counter = 3n, target = 'wasm' as Target } = {},
): number[] {
  const [{ storage }] = evaluate([stateOf(seed, counter)], build, target);
  return Array.from(storage.host as Float64Array, Number);
}

/** Threefry-2x32-20 as the paper writes it, with plain numbers. */
function threefry([k0, k1]: number[], [c0, c1]: number[]): number[] {
  const key = [k0, k1, (0x1bd11bda ^ k0 ^ k1) >>> 0];
  const rotations = [13, 15, 26, 6, 17, 29, 16, 24];
  let [x, y] = [(c0 + k0) >>> 0, (c1 + k1) >>> 0];
  for (let round = 0; round < 20; round++) {
    const by = rotations[round % 8];
    x = (x + y) >>> 0;
    y = (((y << by) | (y >>> (32 - by))) ^ x) >>> 0;
    if (round % 4 === 3) {
      const d = (round + 1) / 4;
      x = (x + key[d % 3]) >>> 0;
      y = (y + key[(d + 1) % 3] + d) >>> 0;
    }
  }
  return [x, y];
}

// From the file of known answers that comes with the authors' Random123 library.
const published = [
  { key: [0, 0], counter: [0, 0], words: [0x6b200159, 0x99ba4efe] },
  { key: [0xffffffff, 0xffffffff], counter: [0xffffffff, 0xffffffff], words: [0x1cb996fc, 0xbb002be7] },
  { key: [0x13198a2e, 0x03707344], counter: [0x243f6a88, 0x85a308d3], words: [0xc4923a9c, 0x483df7a0] },
]; // prettier-ignore

test('the plain generator gives the published words', () => {
  for (const { key, counter, words } of published) assert.deepEqual(threefry(key, counter), words);
});

test('bits are those of the plain generator, at every element', () => {
  const seeds = [0n, -1n, 0x0370734413198a2en, 42n];
  const counters = [0n, 0xffffffffn, 0x85a308d3n, 2n ** 40n + 5n];
  for (const target of ['interpreter', 'wasm'] as const) {
    seeds.forEach((seed, i) => {
      const counter = counters[i];
      const got = draw((state) => randomBits(state, [3, 5]), { seed, counter, target });
      const word = (x: bigint): number => Number(BigInt.asUintN(32, x));
      const key = [word(seed), (word(seed >> 32n) ^ word(counter >> 32n)) >>> 0];
      const expected = Array.from(
        { length: 15 },
        (_, n) => threefry(key, [n, word(counter)])[0] | 0,
      );
      assert.deepEqual(got, expected);
    });
  }
});

test('an element depends on seed, counter and its number only', () => {
  const flat = draw((state) => randomNormal(state, 12));
  assert.deepEqual(
    draw((state) => randomNormal(state, [3, 4])),
    flat,
  );
  assert.deepEqual(
    draw((state) => randomNormal(state, [5])),
    flat.slice(0, 5),
  );
  assert.deepEqual(
    draw((state) => randomNormal(state, [])),
    flat.slice(0, 1),
  );
  assert.deepEqual(
    draw((state) => randomNormal(state, [0, 4])),
    [],
  );
  assert.deepEqual(
    draw((state) => randomNormal(state, 12), { target: 'interpreter' }),
    flat,
  );
  assert.notDeepEqual(
    draw((state) => randomNormal(state, 12), { counter: 4n }),
    flat,
  );
  assert.notDeepEqual(
    draw((state) => randomNormal(state, 12), { seed: 6n }),
    flat,
  );
});

test('shapes may be symbolic', () => {
  const program = new Program();
  const state = program.variable('state', { dtype: 'int64', shape: [2] });
  const like = program.variable('like', { dtype: 'float32', shape: [symbol('n')] });
  program.setOutputs([{ name: 'y', value: randomUniform(state, [symbol('n'), 2]) }]);
  const data = { storage: Storage.zeros('float32', 3), shape: [3] };
  const [y] = compile(program).run([stateOf(5n, 3n), data]);
  assert.deepEqual(y.shape, [3, 2]);
  assert.deepEqual(
    Array.from(y.storage.host, Number),
    draw((s) => randomUniform(s, 6)),
  );
  assert.equal(like.type.dtype, 'float32');
});

/** The greatest distance between the steps of a sample and a distribution, times the root of its size. */
function kolmogorov(sample: number[], cumulative: (x: number) => number): number {
  const sorted = sample.toSorted((a, b) => a - b);
  const n = sorted.length;
  return Math.sqrt(n) * Math.max(
    ...sorted.map((x, i) => Math.max(Math.abs(cumulative(x) - i / n), Math.abs(cumulative(x) - (i + 1) / n))),
  ); // prettier-ignore
}

const critical = 1.95; // exceeded by one true sample in a thousand; the seeds are fixed

const mean = (values: number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const moment = (values: number[], power: number): number =>
  mean(values.map((value) => value ** power));

test('uniform numbers are uniform', () => {
  for (const dtype of ['float32', 'float64'] as const) {
    const sample = draw((state) => randomUniform(state, 20000, { low: -2, high: 3, dtype }));
    assert.ok(sample.every((x) => x >= -2 && x < 3));
    assert.ok(kolmogorov(sample, (x) => (x + 2) / 5) < critical);
    // Neighbors are not correlated: the coefficient is normal with deviation 1/sqrt(n).
    const centered = sample.map((x) => (x - 0.5) / Math.sqrt(25 / 12));
    const products = centered.slice(1).map((x, i) => x * centered[i]);
    assert.ok(Math.abs(mean(products)) < 4 / Math.sqrt(20000));
  }
});

test('uniform numbers reach their least value and never their upper bound', () => {
  const decode: Partial<Record<DType, (bits: number) => number>> = {
    float16: fromFloat16Bits,
    bfloat16: fromBFloat16Bits,
  };
  for (const dtype of ['float16', 'bfloat16'] as const) {
    for (const [low, high] of [
      [0, 1],
      [1000, 1001],
      [-1, 0],
      [-8.5, -8],
    ]) {
      // prettier-ignore
      const bits = draw((state) => randomUniform(state, 5000, { low, high, dtype }));
      const values = bits.map(decode[dtype]!);
      assert.ok(
        values.every((x) => x < high),
        `${dtype} below ${high}`,
      );
      assert.ok(Math.min(...values) >= low);
    }
  }
  const coarse = draw((state) => randomUniform(state, 3000, { low: 16777215, high: 16777216 }));
  assert.deepEqual(new Set(coarse), new Set([16777215]));
});

/** The normal distribution by Taylor's series of its integral; good to 1e-12 within 6 deviations. */
function normal(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; n < 400 && Math.abs(term) > 1e-18; n++) {
    term *= -(x * x) / (2 * n);
    sum += term / (2 * n + 1);
  }
  return 0.5 + sum / Math.sqrt(2 * Math.PI);
}

test('normal numbers are normal', () => {
  for (const dtype of ['float32', 'float64'] as const) {
    const n = 20000;
    const sample = draw((state) => randomNormal(state, n, { dtype }));
    assert.ok(kolmogorov(sample, normal) < critical);
    // Standard errors of the first four moments.
    assert.ok(Math.abs(mean(sample)) < 4 / Math.sqrt(n));
    assert.ok(Math.abs(moment(sample, 2) - 1) < 4 * Math.sqrt(2 / n));
    assert.ok(Math.abs(moment(sample, 3)) < 4 * Math.sqrt(15 / n));
    assert.ok(Math.abs(moment(sample, 4) - 3) < 4 * Math.sqrt(96 / n));
  }
  const moved = draw((state) => randomNormal(state, 5, { mean: 3, std: 2, dtype: 'float64' }));
  const plain = draw((state) => randomNormal(state, 5, { dtype: 'float64' }));
  assert.deepEqual(
    moved,
    plain.map((x) => x * 2 + 3),
  );
  assert.deepEqual(
    draw((state) => randomNormal(state, 2, { mean: 3, std: 0 })),
    [3, 3],
  );
});

test('a normal number is where the distribution reaches the probability of its bits', () => {
  const words = Array.from({ length: 2000 }, (_, n) => threefry([5, 0], [n, 3]));
  const wide = draw((state) => randomNormal(state, 2000, { dtype: 'float64' }));
  const narrow = draw((state) => randomNormal(state, 2000));
  words.forEach(([first, second], i) => {
    const tail = ((first & 0x7fffffff) * 2 ** 21 + (second >>> 11) + 0.5) * 2 ** -53;
    const expected = first >>> 31 === 1 ? tail : 1 - tail;
    const slope = Math.exp(-(wide[i] ** 2) / 2) / Math.sqrt(2 * Math.PI);
    assert.ok(Math.abs(normal(-Math.abs(wide[i])) - tail) < 1e-12);
    assert.equal(Math.sign(wide[i]), expected > 0.5 ? 1 : -1);
    assert.ok(Math.abs(narrow[i] - wide[i]) * slope < 1e-6);
  });
});

test('integers are uniform over their range', () => {
  const sample = draw((state) => randomInteger(state, 20000, { low: -3, high: 7 }));
  const counts = Array.from({ length: 10 }, (_, k) => sample.filter((x) => x === k - 3).length);
  assert.equal(
    counts.reduce((a, b) => a + b),
    20000,
  );
  const chiSquare = counts.reduce((sum, count) => sum + (count - 2000) ** 2 / 2000, 0);
  assert.ok(chiSquare < 27.9, `${chiSquare}`); // 9 degrees of freedom, one in a thousand
});

test('integers come in every integer dtype and fill its range', () => {
  for (const [dtype, low, high] of [
    ['uint8', 0, 256],
    ['int8', -128, 128],
    ['int32', -(2 ** 31), 2 ** 31],
    ['int64', -(2 ** 52), 2 ** 52],
  ] as const) {
    // prettier-ignore
    const sample = draw((state) => randomInteger(state, 3000, { low, high, dtype }));
    const width = high - low;
    assert.ok(sample.every((x) => x >= low && x < high));
    assert.ok(Math.min(...sample) < low + width / 50 && Math.max(...sample) > high - width / 50);
    assert.ok(kolmogorov(sample, (x) => (x + 0.5 - low) / width) < critical);
  }
  assert.deepEqual(
    draw((state) => randomInteger(state, 3, { low: 4, high: 5 })),
    [4, 4, 4],
  );
});

test('mistakes are typed errors', () => {
  const program = new Program();
  const state = program.variable('state', { dtype: 'int64', shape: [2] });
  const wrong = program.variable('wrong', { dtype: 'int64', shape: [3] });
  assert.throws(() => randomBits(wrong, 3), ShapeError);
  assert.throws(() => randomBits(state, [-1]), ShapeError);
  assert.throws(() => randomUniform(state, 3, { low: 1, high: 1 }), ArgumentError);
  assert.throws(() => randomUniform(state, 3, { low: NaN }), ArgumentError);
  assert.throws(() => randomUniform(state, 3, { dtype: 'int32' }), DTypeError);
  assert.throws(() => randomNormal(state, 3, { std: -1 }), ArgumentError);
  assert.throws(() => randomNormal(state, 3, { dtype: 'bool' }), DTypeError);
  assert.throws(() => randomInteger(state, 3, { high: 0 }), ArgumentError);
  assert.throws(() => randomInteger(state, 3, { high: 300, dtype: 'uint8' }), ArgumentError);
  assert.throws(() => randomInteger(state, 3, { high: 3, dtype: 'float32' }), DTypeError);
  assert.throws(() => randomInteger(state, 3, { high: 2.5 }), ArgumentError);
});
