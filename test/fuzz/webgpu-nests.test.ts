import { after } from 'node:test';
import { setUpWebGpu } from '../../src/runtime/webgpu/setup.js';
import { gpuForTests } from '../support/webgpu.js';
import { fuzzOn } from './fuzzed-device.js';
import { testKind } from './texts/kinds.js';
import { nestsOn } from './texts/slopes.js';

/*
 * Random nests of loops and branches on a GPU in a worker.
 */

const name = 'derivatives of nests on a GPU are those of plain numbers';
const gpu = await gpuForTests();
if (typeof gpu === 'string') testKind(name, nestsOn('webgpu'), 8, 300, gpu);
else {
  gpu.close();
  const backend = await setUpWebGpu({ worker: true, fillsMemory: true });
  fuzzOn(backend);
  testKind(name, nestsOn(backend.name), 8, 300);
  after(() => backend.close());
}
