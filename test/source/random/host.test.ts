import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { settings } from '../../support/settings.js';
import { converted, original } from '../convert.js';
import { type Outcome, outcomeOf } from './outcome.js';
import { ProgramWriter } from './host-programs.js';
import { checkSmallest } from './shrink.js';

/* Law 1: fed with no arrays, a converted function is the function that was written. */

const count = settings.programs ?? 240;
const first = settings.seed ?? 1;

const run = (main: (...args: never[]) => unknown): Outcome =>
  outcomeOf((log) => main(log as never, 3 as never, 0 as never));

for (let part = 0; part < 4; part++) {
  test(`random programs on host values, part ${part + 1}`, () => {
    let events = 0;
    for (let k = part; k < count; k += 4) {
      const seed = first + k;
      checkSmallest(new ProgramWriter(seed).write(), (code) => {
        const expected = run(original(code));
        const main = converted(code);
        assert.deepEqual(run(main), expected, `program ${seed}:\n${code}`);
        const captured = run((...args) => kn.deferredCompute(() => main(...args)));
        assert.deepEqual(captured, expected, `program ${seed} in captured code:\n${code}`);
        events += expected.events.length;
      });
    }
    assert.ok(events > count);
  });
}
