import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import * as kn from '../../../src/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import type { WebGpuBackend } from '../../../src/runtime/webgpu/backend.js';
import { setUpWebGpu } from '../../../src/runtime/webgpu/setup.js';
import { gpuForTests } from '../../support/webgpu.js';

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
const opened: WebGpuBackend[] = [];

after(() => {
  for (const backend of opened) backend.close();
  if (typeof gpu !== 'string') gpu.close();
});

for (const worker of [false, true]) {
  test(`kernels of a GPU are measured ${worker ? 'in a worker' : 'by its own clock'}`, { skip }, async () => {
    const backend = await setUpWebGpu({ worker });
    registerDevice(backend);
    opened.push(backend);
    const f = kn.hybridize((x: kn.NDArray) => {
      const [rows] = kn.foreach(
        (row: kn.NDArray, state: kn.NDArray) => {
          const next = kn.tanh(kn.add(kn.matmul(state, x), row));
          return [next, next];
        },
        kn.ones([50, 8, 8]),
        x,
      );
      return kn.softmax(kn.sum(rows, [0]));
    });
    const x = kn.full([8, 8], 0.01).to('webgpu');
    const expected = [...((await f(x).data()) as Float32Array)];
    const before = backend.counts.dispatches;
    let actual: number[] = [];
    const profile = await kn.profile(async () => (actual = [...((await f(x).data()) as Float32Array)]));
    assert.deepEqual(actual, expected);
    const { kernels, milliseconds } = profile;
    const calls = kernels.reduce((sum, kernel) => sum + kernel.calls, 0);
    // More than are submitted at once, and all of them.
    assert.ok(calls > 50);
    assert.equal(calls, backend.counts.dispatches - before);
    assert.ok(kernels.every(({ device }) => device === 'webgpu'));
    assert.ok(kernels.some(({ name, calls: runs }) => name.includes('tanh') && runs === 50));
    const inKernels = kernels.reduce((sum, kernel) => sum + kernel.milliseconds, 0);
    assert.ok(inKernels > 0 && inKernels < milliseconds);
    // Dawn rounds timestamps of pages to multiples of 65,536 ns.
    assert.ok(Math.round(inKernels * 1e6) % 65_536 !== 0);
    // Nothing is measured afterwards, and what runs is the same.
    assert.deepEqual([...((await f(x).data()) as Float32Array)], expected);
  });
} // prettier-ignore
