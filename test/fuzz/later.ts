import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { moveToDevice } from '../../src/front/devices/placing.js';
import { dealt, settings } from '../support/settings.js';
import { programOf } from './check.js';
import { type Outcome, outcomeOfError, snapshotLater } from './compare.js';
import { deviceName, elsewhere } from './fuzzed-device.js';
import { compiled, inside } from './oracles.js';
import { printProgram } from './print.js';
import type { FuzzProgram } from './program.js';
import { type Arrays, attach, forward, inMode, Reference, withGradients } from './reference.js';
import { World } from './run.js';

/*
 * Programs on a device that answers later: elements, sizes that the data decides and refusals arrive when results are
 * read.
 */

/** Tests that so many random programs give the same on the device that `fuzzOn` was told, which answers later. */
export function fuzzLater(
  count: number,
  { skip = false }: { readonly skip?: string | false } = {},
): void {
  const start = settings.seed ?? 1;
  for (const seed of dealt(Array.from({ length: count }, (_, i) => start + i))) {
    test(
      `the program of the seed ${seed} gives the same on a device that answers later`,
      { skip },
      async () => {
        const isWhole = seed % 2 === 1;
        const { program } = programOf(seed, isWhole ? 'onDeviceWhole' : 'onDevice');
        const found = await differenceLater(program, isWhole);
        assert.equal(found && `${found}\n${printProgram(program)}`, null);
      },
    );
  }
}

/** How a captured program differs there, in words, with its gradients or without; null where it does not. */
async function differenceLater(program: FuzzProgram, isWhole: boolean): Promise<string | null> {
  const body = isWhole ? withGradients(forward) : forward;
  const world = new World(program);
  const call = inside(compiled(world, body, undefined));
  for (const array of world.outside.values()) moveToDevice(array, deviceName());
  for (const [k, variant] of program.variants.entries()) {
    const expected = new Reference(program, body, variant);
    const outcome = await outcomeLater(() => {
      const args = elsewhere(world.load(variant));
      attach(world, args);
      return [...inMode(program, () => call(world, args, {})), ...world.states()];
    });
    const found = expected.compare(outcome);
    if (found !== null) return `call ${k}: ${found}`;
    if (outcome.kind === 'error') return null;
  }
  return kn.autograd.isRecording() ? 'a recording was left open' : null;
}

/** Runs, and reads everything; a refusal may come with either. */
async function outcomeLater(run: () => Arrays): Promise<Outcome> {
  try {
    return { kind: 'arrays', arrays: await Promise.all(run().map(snapshotLater)) };
  } catch (error) {
    return outcomeOfError(error);
  }
}
