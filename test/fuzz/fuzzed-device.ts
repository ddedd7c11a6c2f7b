import assert from 'node:assert/strict';
import { moveToDevice } from '../../src/front/devices/placing.js';
import type { Backend } from '../../src/runtime/device/backend.js';
import { registerDevice } from '../../src/runtime/device/register.js';
import { FakeBackend } from '../support/fake-device.js';
import { compareWith } from './facts.js';
import type { Arrays } from './reference.js';

/** The arguments of a call, moved: what asks for gradients is asked there. */
export function elsewhere(args: Arrays): Arrays {
  for (const array of args) moveToDevice(array, deviceName());
  return args;
}

/** A device that interprets the loop IR, with room for all that random programs make. */
export function fuzzedDevice(): FakeBackend {
  return new FakeBackend('fuzzed', {
    answersAtOnce: true,
    bufferBytes: 2 ** 26,
    budget: 2 ** 29,
  });
}

/** The device of the programs that run elsewhere, which answers at once; see `fuzzOn`. */
let device: string | null = null;

/** Has programs that run elsewhere run on a device. */
export function fuzzOn(backend: Backend): void {
  registerDevice(backend);
  compareWith(backend.target);
  device = backend.name;
}

export function deviceName(): string {
  assert.ok(device !== null, 'fuzzOn says where programs run');
  return device;
}
