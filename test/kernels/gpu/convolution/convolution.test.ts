import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Program } from '../../../../src/ir/program.js';
import { workgroupsIn } from '../../../../src/loop/language/verify-workgroups.js';
import { conv } from '../../../../src/ops/index.js';
import { Storage } from '../../../../src/runtime/memory/storage.js';
import { numbersOf, sizeOf } from '../../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../../support/gpu-programs.js';
import { generator } from '../../../support/samples.js';

type Options = Parameters<typeof conv>[2];

function convolution(
  input: readonly number[],
  weights: readonly number[],
  options: Options,
): Program {
  const program = new Program();
  const [x, w] = [input, weights].map((shape, k) =>
    program.variable(`x${k}`, { dtype: 'float32', shape }),
  );
  program.setOutputs([{ name: 'y', value: conv(x, w, options) }]);
  return program;
}

test('a convolution reads its windows in place, and is one kernel of workgroups', async () => {
  const [images, channels, height, width, outputs] = [2, 3, 9, 11, 20];
  const random = generator(2);
  const operand = (shape: readonly number[]) => ({
    storage: new Storage(
      'float32',
      Float32Array.from({ length: sizeOf(shape) }, () => Math.floor(random() * 7) - 3),
    ),
    shape,
  });
  const [x, w] = [operand([images, channels, height, width]), operand([outputs, channels, 3, 2])];
  const program = convolution(x.shape, w.shape, { padding: [1, 2], strides: [2, 1] });
  const [{ body }, ...others] = gpuKernelsOf(program);
  assert.equal(others.length, 0);
  assert.deepEqual(workgroupsIn(body).map(({ size }) => size), [256]); // prettier-ignore
  const [y] = await new ProgramsOnGrid(4).run(program, [x, w]);
  const [, , down, across] = y.shape;
  const [elements, taps] = [numbersOf(x), numbersOf(w)];
  const expected = numbersOf(y).map((_, at) => {
    const [column, row] = [at % across, Math.floor(at / across) % down];
    const output = Math.floor(at / (across * down)) % outputs;
    const image = Math.floor(at / (across * down * outputs));
    let sum = 0;
    for (let channel = 0; channel < channels; channel++) {
      for (let r = 0; r < 3; r++) {
        for (let c = 0; c < 2; c++) {
          const [i, j] = [row * 2 + r - 1, column + c - 2];
          if (i < 0 || i >= height || j < 0 || j >= width) continue;
          const element = elements[((image * channels + channel) * height + i) * width + j];
          sum += element * taps[((output * channels + channel) * 3 + r) * 2 + c];
        }
      }
    }
    return sum;
  });
  assert.deepEqual(numbersOf(y), expected);
});

test('a convolution of each channel by itself has an invocation for each result', () => {
  const program = convolution([2, 8, 10, 10], [8, 1, 3, 3], { groups: 8 });
  const kernels = gpuKernelsOf(program);
  assert.equal(kernels.length, 1);
  assert.deepEqual(workgroupsIn(kernels[0].body), []);
});
