import assert from 'node:assert/strict';
import { after } from 'node:test';
import { gpuTarget } from '../../src/kernels/gpu/index.js';
import { DeviceQueue } from '../../src/runtime/device/queue.js';
import { FakeBackend } from '../support/fake-device.js';
import { testWorkgroupsOnDevices } from './on-devices.js';

/*
 * Operators compute by workgroups what they compute on the CPU: kernels for a GPU, run by the interpreter,
 * whose invocations run in any order between barriers.
 */

const backend = new FakeBackend('fake', { target: gpuTarget });
testWorkgroupsOnDevices([new DeviceQueue(backend)]);

after(() => {
  const { launches, launchesOfWorkgroups } = backend;
  assert.ok(launchesOfWorkgroups > launches / 4, `${launchesOfWorkgroups} of ${launches} launches`);
});
