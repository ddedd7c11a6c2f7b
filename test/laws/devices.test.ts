import { DeviceQueue } from '../../src/runtime/device/queue.js';
import { FakeBackend } from '../support/fake-device.js';
import { testOnDevices } from './on-devices.js';

/*
 * Every operator computes on another device what it computes on the CPU: by kernels that are lowered from the
 * declarations alone, step by step, in buffers of their own. What the device lacks runs on the CPU.
 */

testOnDevices(
  [false, true].map((answersAtOnce) => new DeviceQueue(new FakeBackend('fake', { answersAtOnce }))),
);
