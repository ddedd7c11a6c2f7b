import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { everyCallable, perform, rightCall } from './campaign.js';
import type { Callable } from './declarations.js';
import { makeWorld } from './world.js';

/*
 * Whatever takes options, as the published declarations say it, knows their names, refuses others with the
 * nearest of them, and refuses what is no options object.
 */

// Some calls write files.
process.chdir(mkdtempSync(join(tmpdir(), 'kaon-options-')));

const world = makeWorld();

/**
 * What belongs to a run may be kept in one object, states come from elsewhere, errors are not refused while they are
 * made, and an engine may keep what it needs beside what is asked of it.
 */
const mayHoldMore = ['checkpoint', 'state', 'details', 'backend'];

/** A name that no option has, one letter from one that has it. */
const misspelled = (name: string): string => `${name}x`;

/** The error of the right call with another argument in one place; undefined where there was none. */
async function refusal(
  callable: Callable,
  at: number,
  value: (given: object) => unknown,
): Promise<unknown> {
  const base = rightCall(callable, world)!;
  const args = [...base.args];
  args[at] = value((args[at] ?? {}) as object);
  try {
    await perform(callable, base, args);
    return undefined;
  } catch (error) {
    return error;
  }
}

const isRecordOfOptions = (given: unknown): boolean =>
  given === undefined || Object.getPrototypeOf(given) === Object.prototype;

for (const callable of everyCallable()) {
  const { path, parameters } = callable;
  parameters.forEach(({ name, options }, at) => {
    const base = rightCall(callable, world);
    if (options.length === 0 || base === undefined || !isRecordOfOptions(base.args[at])) return;
    if (mayHoldMore.includes(name)) return;
    test(`${path} knows its ${name}: ${options.join(', ')}`, async () => {
      const longest = options.toSorted((a, b) => b.length - a.length)[0];
      const wrong = misspelled(longest);
      const error = await refusal(callable, at, (given) => ({ ...given, [wrong]: 1 }));
      assert.ok(error instanceof kn.ArgumentError, String(error));
      assert.match(error.message, new RegExp(wrong));
      assert.equal(error.advice, `did you mean ${longest}?`);
      for (const option of options) {
        const known = await refusal(callable, at, (given) => ({ [option]: undefined, ...given }));
        assert.equal(known, undefined);
      }
      for (const noOptions of [kn.ones([2]), null]) {
        const refused = await refusal(callable, at, () => noOptions);
        assert.ok(refused instanceof kn.ArgumentError, `${String(noOptions)}: ${String(refused)}`);
      }
    });
  });
}
