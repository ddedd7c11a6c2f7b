import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, symbol } from '../../../src/base/dim/index.js';
import type { DType } from '../../../src/base/dtype.js';
import { supportsRelaxed } from '../../../src/codegen/wasm/index.js';
import { Program, type Value } from '../../../src/ir/program.js';
import { abs, add, exp, logsumexp, max, mean, mul, norm, reshape, sqrt, square, std, sub, sum, var as variance } from '../../../src/ops/index.js'; // prettier-ignore
import { compile } from '../../../src/runtime/compile/compile.js';
import type { CompileOptions, Operand } from '../../../src/runtime/execution/executable.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { numbersOf, sizeOf } from '../../support/arrays.js';
import { generator } from '../../support/samples.js';
import { assertReached } from '../../support/tiers.js';
import { canCompile, withTier } from '../../runtime/native/support.js';

/*
 * Sums of a million terms against the exact ones. No term is rounded more than 16 times on its way into a
 * result (decision 45), so terms of one sign give a sum that is off by 16 roundings at most.
 */

const mostRoundings = 16;
const roundings = { float32: 2 ** -24, float64: 2 ** -53 } as const;
type Float = keyof typeof roundings;

/** Terms of one sign that double precision adds up without rounding. */
const kinds: Readonly<Record<string, (random: () => number) => (index: number) => number>> = {
  'equal terms': () => () => Math.fround(0.1),
  'random terms': (random) => () => Math.ceil(random() * 2 ** 20) / 2 ** 20,
  'one term and dust': () => (index) => (index < 97 ? 1 : 2 ** -25),
  'negative terms': (random) => () => -Math.ceil(random() * 2 ** 20) / 2 ** 20,
};

/** How programs lower the sum; each is a schedule of its own. */
interface Schedule {
  readonly shape: readonly number[];
  readonly axes: readonly number[];
}

const schedules: Readonly<Record<string, Schedule>> = {
  'all elements': { shape: [500_003], axes: [0] },
  'whole blocks': { shape: [2 ** 19], axes: [0] },
  'rows': { shape: [3, 100_007], axes: [1] },
  'rows of a thousand': { shape: [200, 1000], axes: [1] },
  'rows of several axes': { shape: [3, 241, 2, 331], axes: [1, 3] },
  'rows of few elements': { shape: [7011, 3, 13], axes: [0, 2] },
  'rows of three elements': { shape: [30_003, 3, 3], axes: [0, 2] },
  'rows of a few vectors': { shape: [4007, 2, 49], axes: [0, 2] },
  'rows of three folded loops': { shape: [311, 2, 31, 2, 17], axes: [0, 2, 4] },
  'three loops of which one is long': { shape: [3, 2, 3, 2, 10_011], axes: [0, 2, 4] },
  'two columns': { shape: [100_009, 2], axes: [0] },
  'columns': { shape: [10_003, 37], axes: [0] },
  'many columns': { shape: [201, 1500], axes: [0] },
  'columns of two axes': { shape: [301, 3, 111, 5], axes: [0, 2] },
  'columns of short inner loops': { shape: [20_021, 2, 3, 4], axes: [0, 2] },
  'columns in registers': { shape: [7, 9], axes: [0] },
}; // prettier-ignore

function termsOf(dtype: Float, shape: readonly number[], term: (index: number) => number): Operand {
  const length = sizeOf(shape);
  const elements = dtype === 'float32' ? new Float32Array(length) : new Float64Array(length);
  for (let i = 0; i < length; i++) elements[i] = term(i);
  return { storage: new Storage(dtype, elements), shape };
}

/** What a fold in double precision makes of the elements, over some axes. */
function folded(
  { storage, shape }: Operand,
  axes: readonly number[],
  fold: (before: number, element: number) => number,
  initial = 0,
): number[] {
  const elements = storage.host as ArrayLike<number>;
  const kept = shape.map((extent, axis) => (axes.includes(axis) ? 1 : extent));
  const strides = kept.map((_, axis) => sizeOf(kept.slice(axis + 1)));
  const steps = strides.map((stride, axis) => (axes.includes(axis) ? 0 : stride));
  const results = Array<number>(sizeOf(kept)).fill(initial);
  const index = shape.map(() => 0);
  let at = 0;
  for (let i = 0; i < elements.length; i++) {
    results[at] = fold(results[at], elements[i]);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      at += steps[axis];
      if (++index[axis] < shape[axis]) break;
      at -= steps[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return results;
}

const exactSums = (x: Operand, axes: readonly number[]): number[] =>
  folded(x, axes, (sum, term) => sum + term);

function programFor(
  shape: readonly Dim[],
  dtype: DType,
  build: (x: Value) => Readonly<Record<string, Value>>,
): Program {
  const program = new Program();
  const outputs = build(program.variable('x', { dtype, shape }));
  program.setOutputs(Object.entries(outputs).map(([name, value]) => ({ name, value })));
  return program;
}

const free = (shape: readonly number[]): Dim[] => shape.map((_, axis) => symbol(`d${axis}`));

/** Asserts that results are as close to what is exact as that many roundings of them leave them. */
function assertWithin(
  actual: Operand,
  exact: readonly number[],
  roundingsOf: number,
  what: string,
): void {
  const unit = roundings[actual.storage.dtype as Float];
  const found = numbersOf(actual);
  assert.equal(found.length, exact.length, what);
  found.forEach((value, i) => {
    const error = Math.abs(value - exact[i]) / Math.abs(exact[i]);
    assert.ok(error <= roundingsOf * unit, `${what}: ${value} for ${exact[i]}, ${error / unit} u`);
  });
}

const wasm: Readonly<Record<string, CompileOptions>> = {
  'WebAssembly': { tier: 'wasm', relaxed: false },
  ...(supportsRelaxed() && { 'relaxed SIMD': { tier: 'wasm', relaxed: true } }),
}; // prettier-ignore

for (const [name, { shape, axes }] of Object.entries(schedules)) {
  const build = (x: Value): Record<string, Value> => ({ total: sum(x, axes) });

  /** What each set of options computes where sizes are known, and where they are not. */
  const check = (x: Operand, exact: readonly number[], what: string): void => {
    const { dtype } = x.storage;
    for (const [tier, options] of Object.entries(wasm)) {
      for (const sizes of [shape, free(shape)]) {
        const executable = compile(programFor(sizes, dtype, build), options);
        const [total] = executable.run([x]);
        const known = typeof sizes[0] === 'number' ? 'known' : 'unknown';
        assertWithin(total, exact, mostRoundings, `${tier}, ${dtype}, ${known} sizes, ${what}`);
      }
    }
  };

  test(`sums keep their digits: ${name}`, () => {
    const random = generator(name.length);
    for (const [kind, terms] of Object.entries(kinds)) {
      const x = termsOf('float32', shape, terms(random));
      check(x, exactSums(x, axes), kind);
    }
    const count = axes.reduce((product, axis) => product * shape[axis], 1);
    const results = sizeOf(shape) / count;
    const tenths = termsOf('float64', shape, () => 0.1);
    check(tenths, Array<number>(results).fill(0.1 * count), 'equal terms');
  });
}

const chosen = ['all elements', 'rows', 'columns', 'rows of few elements', 'columns of two axes'];

for (const name of chosen) {
  const { shape, axes } = schedules[name];
  const terms = termsOf('float32', shape, kinds['random terms'](generator(1)));
  const sums = exactSums(terms, axes);
  const count = sizeOf(shape) / sums.length;

  test(`so do sums of what is computed, and what is computed of them: ${name}`, () => {
    const program = programFor(shape, 'float32', (x) => ({
      squares: sum(square(x), axes),
      root: sqrt(add(sum(mul(x, 0.5), axes), 1)),
      mean: mean(x, axes),
      norm: norm(x, axes),
    }));
    const squares = folded(terms, axes, (total, term) => total + term * term);
    for (const options of Object.values(wasm)) {
      const [ofSquares, root, average, length] = compile(program, options).run([terms]);
      // A square is rounded before it is added.
      assertWithin(ofSquares, squares, mostRoundings + 1, 'squares');
      const roots = sums.map((total) => Math.sqrt(total / 2 + 1));
      assertWithin(root, roots, mostRoundings + 2, 'an epilogue');
      const means = sums.map((total) => total / count);
      assertWithin(average, means, mostRoundings, 'mean');
      assertWithin(length, squares.map(Math.sqrt), mostRoundings + 2, 'norm');
    }
  });

  test(`so do several reductions of one nest, with what is stored beside: ${name}`, () => {
    const program = programFor(shape, 'float32', (x) => {
      const squares = square(x);
      return { squares, total: sum(squares, axes), most: max(squares, axes) };
    });
    const [squares, total, most] = compile(program, wasm['WebAssembly']).run([terms]);
    const expected = (terms.storage.host as Float32Array).map((term) => term * term);
    assert.deepEqual(squares.storage.host, expected);
    assertWithin(total, exactSums(squares, axes), mostRoundings, 'beside');
    assert.deepEqual(numbersOf(most), folded(squares, axes, Math.max, -Infinity));
  });

  test(`so do variances, about a mean that is far from 0: ${name}`, () => {
    // About 1000, in steps of 1/16: means are as exact as they can be, and so are distances from them.
    const far = termsOf('float32', shape, (i) => 1000 + ((i * 7) % 33) / 16 - 1);
    const means = exactSums(far, axes).map((total) => total / count);
    const distances = folded(far, axes, (total, term) => total + (term - 1000) ** 2);
    const expected = distances.map((total, k) => total / count - (means[k] - 1000) ** 2);
    const program = programFor(shape, 'float32', (x) => ({
      spread: variance(x, axes),
      root: std(x, axes),
    }));
    const [spread, root] = compile(program, wasm['WebAssembly']).run([far]);
    numbersOf(spread).forEach((value, k) =>
      assert.ok(Math.abs(value / expected[k] - 1) < 1e-6, `${value} for ${expected[k]}`),
    );
    numbersOf(root).forEach((value, k) =>
      assert.ok(Math.abs(value / Math.sqrt(expected[k]) - 1) < 1e-6),
    );
  });
}

// What two hundred thousand blocks round away is more than a float beside the total can hold.
for (const [name, shape] of Object.entries({ columns: [10_000_000, 2], rows: [2, 10_000_000] })) {
  test(`ten million equal terms keep their digits: ${name}`, () => {
    const axis = shape.indexOf(10_000_000);
    const program = programFor(shape, 'float32', (x) => ({ total: sum(x, axis) }));
    const executable = compile(program, wasm['WebAssembly']);
    for (const value of [0.6735537, 0.8140496, 0.8471074, 0.8719008].map(Math.fround)) {
      const [total] = executable.run([termsOf('float32', shape, () => value)]);
      const exact = value * shape[axis];
      assertWithin(total, [exact, exact], mostRoundings, `${value}`);
    }
  });
}

test('rows that are looked at several times keep their digits', () => {
  const shape = [5, 40_003];
  const terms = termsOf('float32', shape, kinds['random terms'](generator(2)));
  const program = programFor(shape, 'float32', (x) => {
    const powers = exp(sub(x, max(x, 1, { keepdims: true })));
    const total = sum(powers, 1, { keepdims: true });
    const centered = sub(x, mean(x, 1, { keepdims: true }));
    return { total, log: logsumexp(x, 1), away: mean(abs(centered), 1), powers };
  });
  const [total, log, away, powers] = compile(program, wasm['WebAssembly']).run([terms]);
  assertWithin(total, exactSums(powers, [1]), mostRoundings, 'powers');
  const greatest = folded(terms, [1], Math.max, -Infinity);
  const logs = exactSums(powers, [1]).map((value, row) => Math.log(value) + greatest[row]);
  assertWithin(log, logs, mostRoundings, 'log');
  const means = exactSums(terms, [1]).map((value) => value / shape[1]);
  const elements = terms.storage.host as Float32Array;
  const distances = means.map((middle, row) => {
    const own = elements.subarray(row * shape[1], (row + 1) * shape[1]);
    return own.reduce((total, term) => total + Math.abs(term - middle), 0) / shape[1];
  });
  assertWithin(away, distances, 2 * mostRoundings, 'distances');
});

test('infinities and NaN pass through totals as through sums', () => {
  const length = 5003;
  const program = programFor([length, 3], 'float32', (x) => ({
    columns: sum(x, 0),
    rows: sum(reshape(x, [3, length]), 1),
    all: sum(x),
  }));
  const executable = compile(program, wasm['WebAssembly']);
  const run = (term: (index: number) => number): number[] =>
    executable.run([termsOf('float32', [length, 3], term)]).flatMap(numbersOf);
  assert.deepEqual(run((i) => (i === 7001 ? Infinity : 1)).slice(0, 3), [length, length, Infinity]);
  assert.deepEqual(run((i) => (i < 9 ? -Infinity : 1)), [-Infinity, -Infinity, -Infinity, -Infinity, length, length, -Infinity]); // prettier-ignore
  assert.ok(run((i) => (i === 17 ? Infinity : i === 9002 ? -Infinity : 1)).includes(NaN));
  assert.deepEqual(run((i) => (i === 17 ? NaN : 1)).filter((value) => !Number.isNaN(value)).length, 4); // prettier-ignore
  // Greater than any float: what is rounded away there is no number.
  const huge = run(() => 3e38);
  assert.deepEqual(
    huge,
    huge.map(() => Infinity),
  );
  assert.deepEqual(
    run(() => -0),
    [0, 0, 0, 0, 0, 0, 0],
  );
});

test('narrow floats add up in float32, along either axis', () => {
  for (const dtype of ['bfloat16', 'float16'] as const) {
    const length = 4096;
    const ones = new Uint16Array(length * 3).fill(dtype === 'bfloat16' ? 0x3f80 : 0x3c00);
    const x: Operand = { storage: new Storage(dtype, ones), shape: [length, 3] };
    const program = programFor([length, 3], dtype, (v) => ({
      columns: sum(v, 0),
      rows: sum(reshape(v, [3, length]), 1),
      mean: mean(v, 0),
    }));
    const [columns, rows, average] = compile(program).run([x]);
    assert.deepEqual(numbersOf(columns), [length, length, length]);
    assert.deepEqual(numbersOf(rows), [length, length, length]);
    assert.deepEqual(numbersOf(average), [1, 1, 1]);
  }
});

test(`native code adds in blocks as well${canCompile ? '' : ', but there is no compiler'}`, () => {
  withTier({}, () => {
    const dims = Object.values(schedules).filter(({ shape }) => sizeOf(shape) < 2 ** 20);
    const program = new Program();
    program.setOutputs(
      dims.map(({ shape, axes }, k) => {
        const sizes = k % 2 === 0 ? shape : shape.map((_, axis) => symbol(`d${k}_${axis}`));
        const x = program.variable(`x${k}`, { dtype: 'float32', shape: sizes });
        return { name: `y${k}`, value: sum(x, axes) };
      }),
    );
    const executable = compile(program, { tier: 'native' });
    for (const [kind, terms] of Object.entries(kinds)) {
      const random = generator(3);
      const inputs = dims.map(({ shape }) => termsOf('float32', shape, terms(random)));
      const results = executable.run(inputs);
      if (canCompile) assertReached(executable.tiers());
      results.forEach((result, k) =>
        assertWithin(result, exactSums(inputs[k], dims[k].axes), mostRoundings, `${kind}, ${k}`),
      );
    }
  });
});
