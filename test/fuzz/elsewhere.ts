import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dealt, settings } from '../support/settings.js';
import { checkProgram, deviceOracleOf, programOf } from './check.js';

/** Tests that so many random programs give the same on the device that `fuzzOn` was told. */
export function fuzzDevice(count: number, skip: string | false = false): void {
  const first = settings.seed ?? 1;
  for (const seed of dealt(Array.from({ length: count }, (_, i) => first + i))) {
    test(`the program of the seed ${seed} gives the same on another device`, { skip }, () => {
      const oracle = deviceOracleOf(seed);
      assert.equal(checkProgram(programOf(seed, oracle).program, oracle), null);
    });
  }
}
