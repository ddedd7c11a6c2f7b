import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DType } from '../../../../src/base/dtype.js';
import { symbol } from '../../../../src/base/dim/index.js';
import { Program, type Value } from '../../../../src/ir/program.js';
import { rangesIn } from '../../../../src/loop/language/verify-ranges.js';
import { countedPositions } from '../../../../src/ops/dynamic/positions.js';
import { takeAdjoint } from '../../../../src/ops/index.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { Storage } from '../../../../src/runtime/memory/storage.js';
import { numbersOf } from '../../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../../support/gpu-programs.js';
import { generator } from '../../../support/samples.js';

/* Positions by prefix sums, against a loop over the counts. */

const random = generator(11);
const grid = new ProgramsOnGrid();

const arrays = {
  bool: (counts: readonly number[]) => Uint8Array.from(counts),
  int32: (counts: readonly number[]) => Int32Array.from(counts),
  int64: (counts: readonly number[]) => BigInt64Array.from(counts.map(BigInt)),
  int8: (counts: readonly number[]) => Int8Array.from(counts),
} as const;

function given(dtype: keyof typeof arrays, counts: readonly number[]): Operand {
  return { storage: new Storage(dtype, arrays[dtype](counts)), shape: [counts.length] };
}

function programOf(dtype: DType, length: number | null, of: (counts: Value) => Value): Program {
  const program = new Program();
  const counts = program.variable('counts', { dtype, shape: [length ?? symbol('n')] });
  program.setOutputs([{ name: 'y', value: of(counts) }]);
  return program;
}

/** Each index as often as its count says: so many, of which those that are missing are 0. */
function expectedOf(counts: readonly number[], rows: number): readonly number[] {
  const found = counts.flatMap((count, k) => Array<number>(Math.max(count, 0)).fill(k));
  return Array.from({ length: rows }, (_, k) => found[k] ?? 0);
}

for (const length of [0, 1, 64, 257, 320, 700, 20_000]) {
  for (const isKnown of [true, false]) {
    test(`positions of the true elements of ${length}, ${isKnown ? 'known' : 'symbolic'}`, async () => {
      const counts = Array.from({ length }, () => Number(random() < 0.3));
      const total = counts.reduce((a, b) => a + b, 0);
      for (const rows of [total, total + 3, Math.max(total - 2, 0)]) {
        const program = programOf('bool', isKnown ? length : null, (x) => countedPositions(x, rows)); // prettier-ignore
        const [y] = await grid.run(program, [given('bool', counts)]);
        assert.deepEqual(numbersOf(y), expectedOf(counts, rows));
      }
    });
  }
}

for (const dtype of ['int32', 'int64', 'int8'] as const) {
  test(`positions of counts of ${dtype}, negative ones too`, async () => {
    const counts = Array.from({ length: 900 }, () => Math.floor(random() * 6) - 2);
    const rows = counts.reduce((sum, count) => sum + Math.max(count, 0), 0);
    const program = programOf(dtype, 900, (x) => countedPositions(x, rows));
    const [y] = await grid.run(program, [given(dtype, counts)]);
    assert.deepEqual(numbersOf(y), expectedOf(counts, rows));
  });
}

test('long masks are divided among invocations in every step', () => {
  const program = programOf('bool', 20_000, (x) => countedPositions(x, 5000));
  const kernels = gpuKernelsOf(program);
  // Totals of 64, of 4096, where those begin, where the others begin, positions.
  assert.equal(kernels.length, 5);
  assert.deepEqual(kernels.map(({ body }) => rangesIn(body).length), [1, 1, 0, 1, 1]); // prettier-ignore
});

test('gradients of what was selected go back without a comparison of all with all', async () => {
  const counts = Array.from({ length: 700 }, (_, k) => [2, 0, 1, 3][k % 4] * Number(k < 650));
  const rows = counts.reduce((a, b) => a + b, 0);
  const g = Float32Array.from({ length: rows }, (_, k) => (k % 17) - 8);
  const program = new Program();
  const at = program.variable('counts', { dtype: 'int32', shape: [700] });
  const from = program.variable('g', { dtype: 'float32', shape: [rows] });
  const along = { axis: 0, mode: 'valid' } as const;
  program.setOutputs([{ name: 'y', value: takeAdjoint(from, countedPositions(at, rows), [700], along) }]); // prettier-ignore
  const [y] = await grid.run(program, [
    given('int32', counts),
    { storage: new Storage('float32', g), shape: [rows] },
  ]);
  let next = 0;
  const expected = counts.map((count) => {
    let sum = 0;
    for (let k = 0; k < count; k++) sum += g[next++];
    return sum;
  });
  assert.deepEqual(numbersOf(y), expected);
});
