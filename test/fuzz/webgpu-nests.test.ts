import { after } from 'node:test';
import { setUpWebGpu } from '../../src/runtime/webgpu/setup.js';
import { settings } from '../support/settings.js';
import { gpuForTests } from '../support/webgpu.js';
import { fuzzOn } from './fuzzed-device.js';
import { fuzzNests } from './nests.js';

/*
 * Random nests of loops and branches on a GPU in a worker: 8 of them, and 300 at night.
 */

const count = settings.programs ?? (settings.isLong ? 300 : 8);
const gpu = await gpuForTests();
if (typeof gpu === 'string') fuzzNests(count, { device: 'webgpu', skip: gpu });
else {
  gpu.close();
  const backend = await setUpWebGpu({ worker: true, fillsMemory: true });
  fuzzOn(backend);
  fuzzNests(count, { device: backend.name });
  after(() => backend.close());
}
