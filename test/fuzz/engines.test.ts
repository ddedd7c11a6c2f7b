import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { dealt, settings } from '../support/settings.js';
import { checkProgram, engineOracleOf, programOf } from './check.js';
import { divisions } from './engines.js';

/*
 * Random programs of which an engine runs calls that were drawn at random, on the interpreter. It is slow, so a day has
 * a few of them, and a night 300.
 */

const count = settings.programs ?? (settings.isLong ? 300 : 16);
const first = settings.seed ?? 1;

for (const seed of dealt(Array.from({ length: count }, (_, i) => first + i))) {
  test(`the program of the seed ${seed} gives the same with an engine`, () => {
    const oracle = engineOracleOf(seed);
    assert.equal(checkProgram(programOf(seed, oracle).program, oracle), null);
  });
}

after(() => {
  const runs = divisions.engines.reduce((sum, engine) => sum + engine.runs, 0);
  assert.ok(runs > count, 'engines have run some of it');
});
