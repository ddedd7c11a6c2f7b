import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Program, type Value } from '../../../../src/ir/program.js';
import { cummax, cummin, cumprod, cumsum } from '../../../../src/ops/index.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { numbersOf, sizeOf } from '../../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../../support/gpu-programs.js';
import { floats } from '../../../support/programs.js';
import { generator } from '../../../support/samples.js';

/* Scans of few long rows by blocks, against a loop in double precision. */

const random = generator(21);

function programOf(shape: readonly number[], of: (x: Value) => Value): Program {
  const program = new Program();
  program.setOutputs([
    { name: 'y', value: of(program.variable('x', { dtype: 'float32', shape })) },
  ]);
  return program;
}

interface Direction {
  readonly exclusive?: boolean;
  readonly reverse?: boolean;
}

function expectedOf(
  x: Operand,
  axis: number,
  combine: (a: number, b: number) => number,
  neutral: number,
  { exclusive = false, reverse = false }: Direction,
): number[] {
  const length = x.shape[axis];
  const inner = sizeOf(x.shape.slice(axis + 1));
  const elements = numbersOf(x);
  const results = [...elements];
  for (let row = 0; row < elements.length / length; row++) {
    const first = Math.floor(row / inner) * length * inner + (row % inner);
    let state = neutral;
    for (let k = 0; k < length; k++) {
      const at = first + (reverse ? length - 1 - k : k) * inner;
      const next = combine(state, elements[at]);
      results[at] = exclusive ? state : next;
      state = next;
    }
  }
  return results;
}

for (const [shape, axis] of [[[5000], 0], [[3, 640], 1], [[700, 3], 0], [[2, 513, 2], 1]] as const) {
  for (const direction of [{}, { reverse: true }, { exclusive: true }, { exclusive: true, reverse: true }]) {
    test(`running sums of [${shape.join()}] along ${axis}, ${JSON.stringify(direction)}`, async () => {
      const x = floats(shape, Array.from({ length: sizeOf(shape) }, () => Math.floor(random() * 9) - 4));
      const program = programOf(shape, (of) => cumsum(of, axis, direction));
      const [y] = await new ProgramsOnGrid(axis).run(program, [x]);
      assert.deepEqual(numbersOf(y).map((value) => value + 0), expectedOf(x, axis, (a, b) => a + b, 0, direction));
    });
  }
} // prettier-ignore

test('running extrema, with NaN', async () => {
  const length = 1300;
  const keys = floats([2, length], Array.from({ length: 2 * length }, (_, k) => (k === 1000 ? NaN : random()))); // prettier-ignore
  for (const [operator, better, worst] of [
    [cummax, Math.max, -Infinity],
    [cummin, Math.min, Infinity],
  ] as const) {
    // prettier-ignore
    for (const reverse of [false, true]) {
      const program = programOf([2, length], (x) => operator(x, 1, { reverse }));
      const [y] = await new ProgramsOnGrid().run(program, [keys]);
      assert.deepEqual(numbersOf(y), expectedOf(keys, 1, better, worst, { reverse }));
    }
  }
});

test('running sums of one sign round a term few times', async () => {
  const length = 20000;
  const x = floats(
    [length],
    Array.from({ length }, () => random()),
  );
  const program = programOf([length], (of) => cumsum(of, 0));
  const [y] = await new ProgramsOnGrid().run(program, [x]);
  const found = numbersOf(y);
  // Blocks of 64, of 313 totals, and two additions.
  expectedOf(x, 0, (a, b) => a + b, 0, {}).forEach((value, k) => {
    assert.ok(Math.abs(found[k] / value - 1) <= 380 * 2 ** -24);
  });
});

test('many rows, short ones and products are one kernel', () => {
  const kernels = (shape: readonly number[], axis: number): number =>
    gpuKernelsOf(programOf(shape, (x) => cumsum(x, axis))).length;
  assert.equal(kernels([500], 0), 1);
  assert.equal(kernels([2000, 600], 1), 1);
  assert.equal(gpuKernelsOf(programOf([5000], (x) => cumprod(x, 0))).length, 1);
  // Blocks, their totals, and what they are added to.
  assert.ok(kernels([64 * 500], 0) <= 4);
});
