import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { settings } from '../../support/settings.js';
import { converted, original } from '../convert.js';
import { ProgramWriter } from './host-programs.js';

/* Law 1: fed with no arrays, a converted function is the function that was written. */

interface Outcome {
  readonly events: readonly unknown[];
  readonly end: string;
}

function outcomeOf(run: (log: (...values: unknown[]) => unknown) => unknown): Outcome {
  const events: unknown[] = [];
  const log = (...values: unknown[]): unknown => {
    events.push(values.map((value) => textOf(value)).join(' '));
    if (events.length > 4000) throw new Error('too long');
    return values[values.length - 1];
  };
  try {
    return { events, end: `returns ${textOf(run(log))}` };
  } catch (error) {
    return { events, end: `throws ${textOf(error)}` };
  }
}

function textOf(value: unknown): string {
  if (value instanceof Error) {
    // Messages about values name the expression as it is written.
    return value.constructor === Error ? String(value) : value.name;
  }
  if (typeof value === 'object' && value !== null) return `{${Object.keys(value).join()}}`;
  if (typeof value === 'function') return 'function';
  return Object.is(value, -0) ? '-0' : `${typeof value} ${String(value)}`;
}

const count = settings.programs ?? 240;
const first = settings.seed ?? 1;

for (let part = 0; part < 4; part++) {
  test(`random programs on host values, part ${part + 1}`, () => {
    let events = 0;
    for (let k = part; k < count; k += 4) {
      const seed = first + k;
      const code = new ProgramWriter(seed).write();
      const plain = original(code);
      const other = converted(code);
      const expected = outcomeOf((log) => plain(log as never, 3 as never, 0 as never));
      const given = outcomeOf((log) => other(log as never, 3 as never, 0 as never));
      assert.deepEqual(given, expected, `program ${seed}:\n${code}`);
      const captured = outcomeOf((log) =>
        kn.deferredCompute(() => other(log as never, 3 as never, 0 as never)),
      );
      assert.deepEqual(captured, expected, `program ${seed} in captured code:\n${code}`);
      events += expected.events.length;
    }
    assert.ok(events > count);
  });
}
