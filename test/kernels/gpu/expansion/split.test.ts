import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../../src/base/dim/index.js';
import type { DType } from '../../../../src/base/dtype.js';
import { Program, type Value } from '../../../../src/ir/program.js';
import { workgroupsIn } from '../../../../src/loop/language/verify-workgroups.js';
import {
  all as every,
  any,
  matmul,
  max,
  mean,
  min,
  mul,
  prod,
  sqrt,
  sub,
  sum,
  swapaxes,
} from '../../../../src/ops/index.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { Storage } from '../../../../src/runtime/memory/storage.js';
import { numbersOf, sizeOf } from '../../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../../support/gpu-programs.js';
import { operand } from '../../../support/programs.js';
import { generator } from '../../../support/samples.js';

/* Folds to few results, and products of few results with a long inner axis, are two dispatches. */

function programOf(
  shapes: readonly (readonly number[])[],
  of: (...operands: readonly Value[]) => Value,
): Program {
  const program = new Program();
  const operands = shapes.map((shape, k) => program.variable(`x${k}`, { dtype: 'float32', shape }));
  program.setOutputs([{ name: 'y', value: of(...operands) }]);
  return program;
}

type Fold = typeof sum;

const random = generator(12);

function floats(shape: readonly number[], of: (index: number) => number): Operand {
  return {
    storage: new Storage(
      'float32',
      Float32Array.from({ length: sizeOf(shape) }, (_, k) => of(k)),
    ),
    shape,
  };
}

const long = 2 ** 16;

test('a fold of all elements is split, with what comes before it and behind it', async () => {
  const program = programOf([[256, 256], [256, 256]], (x, y) => sqrt(mean(mul(sub(x, y), sub(x, y))))); // prettier-ignore
  const kernels = gpuKernelsOf(program);
  assert.equal(kernels.length, 2);
  for (const { body } of kernels) assert.equal(workgroupsIn(body).length, 1);
  const [x, y] = [0, 1].map(() => floats([256, 256], () => random()));
  const [found] = await new ProgramsOnGrid(1).run(program, [x, y]);
  const [left, right] = [numbersOf(x), numbersOf(y)];
  const squares = left.reduce((total, value, k) => total + Math.fround(value - right[k]) ** 2, 0);
  const exact = Math.sqrt(squares / long);
  // Both folds round a term 16 times at most.
  assert.ok(Math.abs(numbersOf(found)[0] / exact - 1) < 36 * 2 ** -24);
});

test('rows and columns of few results are split where parts divide them', async () => {
  for (const [shape, axis] of [
    [[3, long], 1],
    [[long, 3], 0],
    [
      [2, 2 ** 8, 2 ** 8],
      [1, 2],
    ],
  ] as const) {
    // prettier-ignore
    for (const fold of [sum, max]) {
      const program = programOf([shape], (x) => fold(x, axis));
      assert.equal(gpuKernelsOf(program).length, 2, `${shape.join()}`);
      const x = floats(shape, () => Math.floor(random() * 9) - 4);
      const [found] = await new ProgramsOnGrid(3).run(program, [x]);
      const results = sizeOf(shape) / long;
      const expected = Array<number>(results).fill(fold === sum ? 0 : -Infinity);
      numbersOf(x).forEach((value, k) => {
        const at = axis === 0 ? k % results : Math.floor(k / long);
        expected[at] = fold === sum ? expected[at] + value : Math.max(expected[at], value);
      });
      assert.deepEqual(numbersOf(found), expected);
    }
  }
});

test('folds that are short, or of many results, are one kernel', () => {
  const kernels = (shape: readonly number[], axis: number): number =>
    gpuKernelsOf(programOf([shape], (x) => sum(x, axis))).length;
  assert.equal(kernels([long / 2], 0), 1);
  assert.equal(kernels([64, long], 1), 1);
  assert.equal(kernels([2, 65537], 1), 2);
  assert.equal(kernels([4096, 64], 0), 2);
  assert.equal(kernels([4096, 1024], 0), 1);
});

test('a product with a long inner axis is split over it', async () => {
  const [m, k, n] = [9, 4096, 20];
  // As the gradient of weights: the left operand is read in the order of its columns.
  const program = programOf([[k, m], [k, n]], (x, y) => matmul(swapaxes(x, 0, 1), y)); // prettier-ignore
  assert.equal(gpuKernelsOf(program).length, 2);
  const [x, y] = [
    floats([k, m], () => Math.floor(random() * 5) - 2),
    floats([k, n], () => Math.floor(random() * 5) - 2),
  ];
  const [found] = await new ProgramsOnGrid(2).run(program, [x, y]);
  const [left, right] = [numbersOf(x), numbersOf(y)];
  const expected = Array.from({ length: m * n }, (_, at) => {
    let total = 0;
    for (let step = 0; step < k; step++) {
      total += left[step * m + Math.floor(at / n)] * right[step * n + (at % n)];
    }
    return total;
  });
  assert.deepEqual(numbersOf(found), expected);
  const whole = programOf([[512, 4096], [4096, 512]], (a, b) => matmul(a, b)); // prettier-ignore
  assert.equal(gpuKernelsOf(whole).length, 1);
});

test('folds over sizes that are not known, or that no part divides, are those of parts that are filled up', async () => {
  const [bounded, n] = [symbol('bounded', { max: 200_000 }), symbol('n')];
  const cases: readonly (readonly [Fold, (a: number, b: number) => number, number])[] = [
    [sum, (a, b) => a + b, 0],
    [mean, (a, b) => a + b, 0],
    [max, (a, b) => Math.max(a, b), -Infinity],
    [min, (a, b) => Math.min(a, b), Infinity],
    [prod, (a, b) => a * b, 1],
  ];
  for (const [fold, step, start] of cases) {
    for (const [shape, axis, lengths] of [
      [[bounded], 0, [130, 1, 1024, 1025]],
      [[n], 0, [1, 16385]],
      [[3, n], 1, [17, 16384]],
      [[n, 17], 0, [1, 255, 257, 600]],
      [[2, n, 3], 1, [5, 300]],
    ] as const) {
      const program = new Program();
      const x = program.variable('x', { dtype: 'float32', shape });
      program.setOutputs([{ name: 'y', value: fold(x, axis) }]);
      assert.equal(gpuKernelsOf(program).length, 2);
      const grid = new ProgramsOnGrid(2);
      for (const length of lengths) {
        // Products of 1 and -1, sums of small integers.
        const sizes = shape.map((size) => (typeof size === 'number' ? size : length));
        const given = floats(sizes, () => (fold === prod ? (random() < 0.5 ? -1 : 1) : Math.floor(random() * 9) - 3));
        const [y] = await grid.run(program, [given]);
        const behind = sizeOf(sizes.slice(axis + 1));
        const expected = Array<number>(sizeOf(sizes) / length).fill(start);
        numbersOf(given).forEach((value, k) => {
          const at = Math.floor(k / (length * behind)) * behind + (k % behind);
          expected[at] = step(expected[at], value);
        });
        numbersOf(y).forEach((value, k) => {
          const exact = fold === mean ? Math.fround(expected[k] / length) : expected[k];
          assert.ok(Math.abs(value - exact) <= 2 ** -23 * Math.abs(exact), `${fold.declaration.name} of ${sizes.join()}`);
        });
      }
    }
  }
}); // prettier-ignore

test('folds of other dtypes are split, those of narrow floats in float32', async () => {
  const length = 5000;
  const cases: readonly (readonly [DType, Fold, (elements: readonly number[]) => number])[] = [
    ['float16', sum, (all) => all.reduce((a, b) => a + b)],
    ['bfloat16', max, (all) => Math.max(...all)],
    ['int32', sum, (all) => all.reduce((a, b) => a + b)],
    ['int64', max, (all) => Math.max(...all)],
    ['bool', any, (all) => Number(all.some((value) => value !== 0))],
    ['bool', sum, (all) => all.reduce((a, b) => a + b)],
    ['bool', every, (all) => Number(all.every((value) => value !== 0))],
  ];
  const n = symbol('count', { max: 2 ** 17 });
  for (const [dtype, fold, exact] of cases) {
    const program = new Program();
    program.setOutputs([{ name: 'y', value: fold(program.variable('x', { dtype, shape: [n] })) }]);
    assert.equal(gpuKernelsOf(program).length, 2);
    for (const isOne of [0, 1]) {
      // Sums of 16 bits are whole numbers to 2048, which no partial sum leaves.
      const elements = Array.from({ length }, (_, k) => (dtype === 'bool' ? isOne : k % 3 === 0 ? 1 : 0));
      const [y] = await new ProgramsOnGrid(1).run(program, [operand(dtype, [length], elements)]);
      assert.deepEqual(numbersOf(y), [exact(elements)], `${fold.declaration.name} of ${dtype}`);
    }
  }
}); // prettier-ignore

test('one result of an unknown number of large slices is two dispatches', async () => {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float32', shape: [symbol('batch'), 32, 40] });
  program.setOutputs([{ name: 'y', value: mean(x) }]);
  const kernels = gpuKernelsOf(program);
  assert.deepEqual(kernels.map(({ body }) => workgroupsIn(body).length), [1, 1]); // prettier-ignore
  const given = floats([3, 32, 40], () => Math.floor(random() * 9) - 4);
  const [y] = await new ProgramsOnGrid(2).run(program, [given]);
  const exact = numbersOf(given).reduce((a, b) => a + b) / 3840;
  assert.ok(Math.abs(numbersOf(y)[0] - exact) <= 2 ** -22 * 4);
});
