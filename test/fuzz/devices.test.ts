import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { dealt, settings } from '../support/settings.js';
import { checkProgram, deviceOracleOf, programOf } from './check.js';
import { fuzzedDevice } from './oracles.js';

/*
 * Random programs on a device that interprets the loop IR. It is slow, so a day has a few of them, and a night 300.
 */

const count = settings.programs ?? (settings.isLong ? 300 : 24);
const first = settings.seed ?? 1;

for (const seed of dealt(Array.from({ length: count }, (_, i) => first + i))) {
  test(`the program of the seed ${seed} gives the same on another device`, () => {
    const oracle = deviceOracleOf(seed);
    assert.equal(checkProgram(programOf(seed, oracle).program, oracle), null);
  });
}

// Some programs are refused, and some have nothing for the device.
after(() => assert.ok(fuzzedDevice.launches > 10 * count, 'the device has run them'));
