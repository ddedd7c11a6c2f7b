import { after } from 'node:test';
import { DeviceQueue } from '../../src/runtime/device/queue.js';
import { setUpWebGpu } from '../../src/runtime/webgpu/setup.js';
import { gpuForTests } from '../support/webgpu.js';
import { testWorkgroupsOnDevices, testOnDevices } from './on-devices.js';

/* Every operator computes by WebGPU what it computes on the CPU. */

const gpu = await gpuForTests();
if (typeof gpu === 'string') {
  testOnDevices([], gpu);
  testWorkgroupsOnDevices([], gpu);
} else {
  gpu.close();
  const backend = await setUpWebGpu({ fillsMemory: true });
  const queues = [new DeviceQueue(backend)];
  testOnDevices(queues, false, true);
  testWorkgroupsOnDevices(queues, false, true);
  after(() => backend.close());
}
