import assert from 'node:assert/strict';
import { after } from 'node:test';
import { settings } from '../support/settings.js';
import { fuzzDevice } from './elsewhere.js';
import { fuzzedDevice, fuzzOn } from './fuzzed-device.js';

/*
 * Random programs on a device that interprets the loop IR. It is slow, so a day has a few of them, and a night 300.
 */

const count = settings.programs ?? (settings.isLong ? 300 : 16);
const device = fuzzedDevice();
fuzzOn(device);
fuzzDevice(count);

// Some programs are refused, and some have nothing for the device.
after(() => assert.ok(device.launches > 10 * count, 'the device has run them'));
