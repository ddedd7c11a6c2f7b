import assert from 'node:assert/strict';
import { after } from 'node:test';
import { setUpWebGpu } from '../../src/runtime/webgpu/setup.js';
import { settings } from '../support/settings.js';
import { gpuForTests } from '../support/webgpu.js';
import { fuzzDevice } from './elsewhere.js';
import { fuzzOn } from './fuzzed-device.js';

/** How many files share the programs, so that they run side by side: each of them uses one core. */
const parts = 2;

/**
 * Declares the tests of a part of the random programs, with control flow and sizes that the data decides, on a GPU in a
 * worker. Most of the time goes to compilers, so a day has a few of them, and a night 1,000.
 */
export async function fuzzGpu(part: number): Promise<void> {
  const all = settings.programs ?? (settings.isLong ? 1000 : 24);
  const at = (k: number): number => Math.floor((all * k) / parts);
  const [first, count] = [at(part), at(part + 1) - at(part)];
  if (count === 0) return;
  const gpu = await gpuForTests();
  if (typeof gpu === 'string') {
    fuzzDevice(count, { first, skip: gpu });
    return;
  }
  gpu.close();
  const backend = await setUpWebGpu({ worker: true, fillsMemory: true });
  fuzzOn(backend);
  fuzzDevice(count, { first });
  after(() => {
    assert.ok(backend.counts.dispatches > 10 * count, 'the device has run them');
    backend.close();
  });
}
