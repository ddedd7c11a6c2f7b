import assert from 'node:assert/strict';
import { test } from 'node:test';
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
    const before = fuzzedDevice.launches;
    assert.equal(checkProgram(programOf(seed, oracle).program, oracle), null);
    // Every seventh program is refused.
    assert.ok(seed % 7 === 0 || fuzzedDevice.launches > before, 'the device has run something');
  });
}
