import assert from 'node:assert/strict';
import { after } from 'node:test';
import { setUpWebGpu } from '../../src/runtime/webgpu/setup.js';
import { settings } from '../support/settings.js';
import { gpuForTests } from '../support/webgpu.js';
import { fuzzDevice } from './elsewhere.js';
import { fuzzOn } from './oracles.js';

/*
 * Random programs, with control flow and sizes that the data decides, on a GPU in a worker. Most of the time goes to
 * the compiler of its driver, so a day has a few of them, and a night 1,000.
 */

const count = settings.programs ?? (settings.isLong ? 1000 : 24);
const gpu = await gpuForTests();

if (typeof gpu === 'string') fuzzDevice(count, gpu);
else {
  gpu.close();
  const backend = await setUpWebGpu({ worker: true });
  fuzzOn(backend);
  fuzzDevice(count);
  after(() => {
    assert.ok(backend.counts.dispatches > 10 * count, 'the device has run them');
    backend.close();
  });
}
