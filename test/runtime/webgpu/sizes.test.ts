import { after } from 'node:test';
import { registerDevice } from '../../../src/runtime/device/register.js';
import type { WebGpuBackend } from '../../../src/runtime/webgpu/backend.js';
import { setUpWebGpu } from '../../../src/runtime/webgpu/setup.js';
import { testSizes } from '../../support/sizes.js';
import { gpuForTests } from '../../support/webgpu.js';

/* Sizes that the data decides on a GPU: they stay there, in this thread or in a worker. */

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
const backends: WebGpuBackend[] = [];

for (const worker of [false, true]) {
  const backend = skip === false ? await setUpWebGpu({ worker }) : null;
  if (backend !== null) backends.push(backend);
  testSizes(worker ? 'a GPU in a worker' : 'a GPU of this thread', {
    name: 'webgpu',
    decides: true,
    hasInt64: true,
    skip,
    use: () => registerDevice(backend!),
    reads: () => backend!.counts.reads,
  });
}

after(() => {
  for (const backend of backends) backend.close();
  if (typeof gpu !== 'string') gpu.close();
});
