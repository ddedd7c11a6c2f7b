import { after } from 'node:test';
import { setUpWebGpu } from '../../src/runtime/webgpu/setup.js';
import { gpuForTests } from '../support/webgpu.js';
import { settings } from '../support/settings.js';
import { fuzzOn } from './fuzzed-device.js';
import { fuzzLater } from './later.js';

/*
 * Random programs on a GPU that this thread commands, whose answers are promises.
 */

const count = settings.programs ?? (settings.isLong ? 300 : 8);
const gpu = await gpuForTests();
if (typeof gpu === 'string') fuzzLater(count, { skip: gpu });
else {
  gpu.close();
  const backend = await setUpWebGpu({ worker: false, fillsMemory: true });
  fuzzOn(backend);
  fuzzLater(count);
  after(() => backend.close());
}
