import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import * as kn from '../../../src/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import { setUpWebGpu } from '../../../src/runtime/webgpu/setup.js';
import { gpuForTests } from '../../support/webgpu.js';

/* Kernels of several dispatches, whose sizes the laws do not reach, on a GPU as on the CPU. */

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
if (typeof gpu !== 'string') {
  const backend = await setUpWebGpu({});
  registerDevice(backend);
  after(() => {
    backend.close();
    gpu.close();
  });
}

async function numbersOf(x: kn.NDArray): Promise<readonly number[]> {
  return Array.from(await x.data(), Number);
}

test('long rows are sorted, and equal elements keep their order', { skip }, async () => {
  kn.random.seed(3);
  for (const [shape, axis, dtype, descending] of [
    [[2, 2500], 1, 'float32', true],
    [[5000], 0, 'int32', false],
    [[70, 3], 0, 'float16', false],
    [[9, 20], 1, 'float32', true],
  ] as const) {
    const x = kn.random.normal([...shape]).mul(50).floor().astype(dtype);
    const sorted = kn.hybridize((of: kn.NDArray) => of.argsort(axis, { descending }));
    assert.deepEqual(await numbersOf(sorted(x.to('webgpu'))), await numbersOf(sorted(x)));
  }
  const x = kn.random.normal([2100]);
  assert.deepEqual(await numbersOf(x.to('webgpu').sort()), await numbersOf(x.sort()));
}); // prettier-ignore

test('positions that a program only uses are not computed elsewhere', { skip }, async () => {
  kn.random.seed(4);
  const x = kn.random.normal([6, 3000]);
  const best = kn.hybridize((of: kn.NDArray) => {
    const { values, indices } = kn.topK(of, 5, 1);
    return kn.concat([values, kn.gather(of.square(), indices, 1), of.sort(1).slice(':', [0, 9])], 1);
  });
  assert.deepEqual(await numbersOf(best(x.to('webgpu'))), await numbersOf(best(x)));
  for (const { islands } of best.explain().traces) assert.deepEqual(islands, []);
}); // prettier-ignore
