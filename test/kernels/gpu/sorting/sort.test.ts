import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DType } from '../../../../src/base/dtype.js';
import { symbol } from '../../../../src/base/dim/index.js';
import { Program, type Value } from '../../../../src/ir/program.js';
import { workgroupsIn } from '../../../../src/loop/language/verify-workgroups.js';
import { argsort, sort, topK } from '../../../../src/ops/index.js';
import { rankedRuns, sortedRuns } from '../../../../src/kernels/gpu/sorting/runs.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { numbersOf, sizeOf } from '../../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../../support/gpu-programs.js';
import { operand } from '../../../support/programs.js';
import { generator } from '../../../support/samples.js';

/* Sorts on a GPU against the sort of JavaScript, which is stable: few distinct keys show the order of equal ones. */

const random = generator(8);

type Sorted = (x: Value) => Value | readonly Value[];

function programOf(dtype: DType, shape: readonly number[], of: Sorted): Program {
  const program = new Program();
  const results = [of(program.variable('x', { dtype, shape }))].flat();
  program.setOutputs(results.map((value, k) => ({ name: `y${k}`, value })));
  return program;
}

function keys(dtype: DType, shape: readonly number[]): Operand {
  const below = dtype === 'bool' ? 2 : 40;
  const elements = Array.from({ length: sizeOf(shape) }, () => {
    const key = Math.floor(random() * below);
    if (dtype === 'int64') return BigInt(key) * 2n ** 40n;
    return dtype === 'float32' && key === 7 ? NaN : key;
  });
  return operand(dtype, shape, elements);
}

/** Positions in order along an axis. */
function expectedOrder(x: Operand, axis: number, descending: boolean): number[] {
  const length = x.shape[axis];
  const inner = sizeOf(x.shape.slice(axis + 1));
  const elements = numbersOf(x);
  const order: number[] = Array.from(elements);
  const rank = (value: number): number => (Number.isNaN(value) ? Infinity : value);
  for (let row = 0; row < elements.length / length; row++) {
    const first = Math.floor(row / inner) * length * inner + (row % inner);
    const at = (k: number): number => rank(elements[first + k * inner]);
    const positions = Array.from({ length }, (_, k) => k);
    positions.sort((a, b) => (at(a) === at(b) ? 0 : at(a) < at(b) !== descending ? -1 : 1));
    positions.forEach((position, k) => (order[first + k * inner] = position));
  }
  return order;
}

for (const [dtype, shape, axis, descending] of [
  ['float32', [3, 40], 1, false],
  ['float32', [70, 3], 0, true],
  ['float32', [2048], 0, false],
  ['float32', [5000], 0, true],
  ['float32', [2, 4097], 1, false],
  ['float32', [2100, 2], 0, false],
  ['int8', [3, 20], 1, false],
  ['int64', [1030], 0, false],
  ['bool', [600], 0, true],
  ['float16', [100], 0, false],
  ['int32', [8193], 0, false],
] as const) {
  test(`argsort of ${dtype}[${shape.join()}] along ${axis}`, async () => {
    const x = keys(dtype, shape);
    const program = programOf(dtype, shape, (value) => argsort(value, axis, { descending }));
    for (const seed of [0, 3]) {
      const [order] = await new ProgramsOnGrid(seed).run(program, [x]);
      assert.deepEqual(numbersOf(order), expectedOrder(x, axis, descending));
    }
  });
}

for (const [dtype, most, lengths, descending] of [
  ['float32', undefined, [0, 1, 33, 2047, 2049, 4100], false],
  ['float32', 100, [0, 1, 63, 64, 65, 100], true],
  ['float32', 32, [0, 1, 32], false],
  ['int64', undefined, [5, 1024, 1025, 2500], true],
] as const) {
  test(`argsort of rows of ${dtype} of unknown length, ${most ?? 'any'} at most`, async () => {
    const grid = new ProgramsOnGrid(most ?? 2);
    const program = new Program();
    const n = symbol('n', most === undefined ? {} : { max: most });
    const x = program.variable('x', { dtype, shape: [2, n] });
    program.setOutputs([{ name: 'y', value: argsort(x, 1, { descending }) }]);
    for (const length of lengths) {
      const given = keys(dtype, [2, length]);
      const [order] = await grid.run(program, [given]);
      assert.deepEqual(numbersOf(order), expectedOrder(given, 1, descending), `${length}`);
    }
  });
}

test('runs are joined some at a time, and then all', async () => {
  for (const length of [1, 33, 99, 100, 250]) {
    const x = keys('float32', [2, length]);
    const sort = { axis: 1, descending: false };
    const program = programOf('float32', [2, length], (value) => {
      const runs = sortedRuns(value, { ...sort, run: 33 });
      const joined = rankedRuns(value, runs, { ...sort, run: 33, together: 3 });
      return [joined, rankedRuns(value, joined, { ...sort, run: 99, together: null })];
    });
    const [joined, all] = await new ProgramsOnGrid(length).run(program, [x]);
    assert.deepEqual(numbersOf(all), expectedOrder(x, 1, false));
    const elements = numbersOf(x);
    const places = numbersOf(joined);
    places.forEach((at, k) => {
      const [row, place] = [Math.floor(k / length), k % length];
      // Within its run, and behind the one before it.
      assert.equal(Math.floor(at / 99), Math.floor(place / 99));
      const before = places[k - 1];
      if (place % 99 === 0) return;
      const [a, b] = [before, at].map((of) => elements[row * length + of]);
      assert.ok(a < b || (a === b && before < at) || Number.isNaN(b));
    });
  }
});

test('the first elements of long rows and of short ones', async () => {
  for (const [length, k] of [
    [9, 3],
    [300, 5],
    [3000, 20],
    [3000, 100],
  ] as const) {
    const shape = [2, length];
    const x = keys('float32', shape);
    const program = programOf('float32', shape, (value) => {
      const { values, indices } = topK(value, k, 1);
      return [values, indices];
    });
    const [values, indices] = await new ProgramsOnGrid().run(program, [x]);
    const order = expectedOrder(x, 1, true);
    const first = [0, 1].flatMap((row) => order.slice(row * length, row * length + k));
    assert.deepEqual(numbersOf(indices), first);
    const elements = numbersOf(x);
    assert.deepEqual(numbersOf(values), first.map((at, i) => elements[Math.floor(i / k) * length + at])); // prettier-ignore
  }
});

test('rows that fit are sorted by a workgroup each, longer ones by runs that are merged', () => {
  const grouped = (shape: readonly number[]): readonly number[] =>
    gpuKernelsOf(programOf('float32', shape, (x) => sort(x))).map(({ body }) => workgroupsIn(body).length); // prettier-ignore
  assert.deepEqual(grouped([4, 2048]), [1, 0]);
  // Runs of 2048, two merges, and the elements.
  assert.deepEqual(grouped([8000]), [1, 0, 0, 0]);
  assert.deepEqual(grouped([1000, 30]), [0, 0]);
  // Rows of unknown length: runs, and then the rank of each element among some of them, and among all.
  const unknown = (bounds: { readonly max?: number }): readonly number[] => {
    const program = new Program();
    const x = program.variable('x', { dtype: 'float32', shape: [symbol('n', bounds)] });
    program.setOutputs([{ name: 'y', value: sort(x) }]);
    return gpuKernelsOf(program).map(({ body }) => workgroupsIn(body).length);
  };
  assert.deepEqual(unknown({}), [1, 0, 0, 0]);
  assert.deepEqual(unknown({ max: 2 ** 17 }), [1, 0, 0]);
  assert.deepEqual(unknown({ max: 2048 }), [1, 0]);
  assert.deepEqual(unknown({ max: 32 }), [0, 0]);
});
