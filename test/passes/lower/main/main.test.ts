import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as e from '../../../../src/loop/language/build.js';
import { mainKernel } from '../../../../src/passes/lower/main/main.js';
import { orders } from '../../../support/simulated.js';
import { runTeam } from '../../../support/teams.js';
import { randomSteps, type RandomSteps } from './random-steps.js';

/** Numbers from a seed (mulberry32). */
function chooser(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

/** What threads leave in memory that take turns in an order. */
function check(
  { steps, table, memory, tableAt, expected }: RandomSteps,
  order: readonly number[],
  name: string,
): void {
  // prettier-ignore
  const module = e.moduleOf(mainKernel(steps, table, order.length).toReversed());
  const bytes = memory();
  runTeam(module, bytes, tableAt, order);
  for (const [at, values] of expected) {
    const found = [...new Int32Array(bytes, at, values.length)];
    assert.deepEqual(found, values, `${name}, threads ${order.join()}`);
  }
}

describe('steps in random order of arrays, loops and branches', () => {
  const programs = Array.from({ length: 400 }, (_, seed) => randomSteps(chooser(seed)));

  it('leave the same behind, whoever runs them', () => {
    for (const [seed, program] of programs.entries()) {
      for (const order of [[0], ...orders]) check(program, order, `program ${seed}`);
    }
  });
});
