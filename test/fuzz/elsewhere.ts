import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { dealt, settings } from '../support/settings.js';
import { checkProgram, deviceOracleOf, programOf } from './check.js';

interface DeviceOptions {
  /** How many programs others try before these. Default 0. */
  readonly first?: number;
  /** Why there is no device. Default false. */
  readonly skip?: string | false;
}

/** Tests that so many random programs give the same on the device that `fuzzOn` was told. */
export function fuzzDevice(count: number, { first = 0, skip = false }: DeviceOptions = {}): void {
  const start = (settings.seed ?? 1) + first;
  for (const seed of dealt(Array.from({ length: count }, (_, i) => start + i))) {
    test(`the program of the seed ${seed} gives the same on another device`, { skip }, async () => {
      // Memory is given back, and reports are written, when code has returned to the event loop.
      await setImmediate();
      const oracle = deviceOracleOf(seed);
      assert.equal(checkProgram(programOf(seed, oracle).program, oracle), null);
    });
  }
}
