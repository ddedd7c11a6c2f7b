import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { symbol } from '../../../src/base/dim/index.js';
import type { Value } from '../../../src/ir/program.js';
import {
  add,
  booleanMask,
  cast,
  cond,
  foreach,
  greater,
  less,
  nonzero,
  reshape,
  sub,
  sum,
  whileLoop,
} from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { elementsOf, floats } from '../../support/programs.js';
import { program } from './host.js';

/*
 * Random programs over vectors whose sizes their data decides, against the same in plain JavaScript.
 * Elements are small integers, so that float32 is exact.
 */

const vector = { dtype: 'float32', shape: [symbol('n')] } as const;
const second = { dtype: 'float32', shape: [symbol('m')] } as const;
const float = { dtype: 'float32', shape: [] } as const;
const total = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);

/** The number of elements over a bound. */
const countOver = (x: Value, bound: number): Value =>
  cast<Value>(sum<Value>(greater<Value>(x, bound)), 'float32');

interface Step {
  readonly value: (x: Value, y: Value, k: number) => Value;
  readonly plain: (x: readonly number[], y: readonly number[], k: number) => readonly number[];
}

const plus = program([float, float], (e, s) => [add(e, s), add(e, s)]);
const same = program([vector, second], (x) => [x]);
const other = program([vector, second], (_, y) => [booleanMask(y, less(y, 3))]);
const isBelow = program([float, float], (at, end) => [less(at, end)]);
const next = program([float, float], (at, end) => [sub(end, at), add(at, 1)]);

const steps: Readonly<Record<string, Step>> = {
  mask: {
    value: (x, _, k) => booleanMask(x, greater(x, k)),
    plain: (x, _, k) => x.filter((e) => e > k),
  },
  shift: {
    value: (x, _, k) => add(x, k),
    plain: (x, _, k) => x.map((e) => e + k),
  },
  count: {
    value: (x, y, k) => add(x, countOver(y, k)),
    plain: (x, y, k) => x.map((e) => e + y.filter((f) => f > k).length),
  },
  positions: {
    value: (x, _, k) => cast<Value>(reshape<Value>(nonzero<Value>(greater(x, k)), [-1]), 'float32'),
    plain: (x, _, k) => x.flatMap((e, i) => (e > k ? [i] : [])),
  },
  sums: {
    value: (x, y, k) =>
      foreach<Value>(plus, { data: [x], states: [countOver(y, k)], captures: [] })[0],
    plain: (x, y, k) => {
      let state = y.filter((f) => f > k).length;
      return x.map((e) => (state += e));
    },
  },
  countdown: {
    value: (x, _, k) =>
      whileLoop<Value>(isBelow, next, {
        states: [cast<Value>(sum<Value>(greater<Value>(x, 1000)), 'float32')],
        captures: [countOver(x, k)],
      })[0],
    plain: (x, _, k) => {
      const count = x.filter((e) => e > k).length;
      return Array.from({ length: count }, (_, i) => count - i);
    },
  },
  choose: {
    value: (x, y) => cond<Value>(greater(sum(x), sum(y)), same, other, [x, y])[0],
    plain: (x, y) => (total(x) > total(y) ? x : y.filter((e) => e < 3)),
  },
};

const names = Object.keys(steps);
const small = fc.integer({ min: -3, max: 3 });

test('random programs of masks, loops and branches give what plain code gives', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...names), fc.nat(), fc.nat(), small), {
        minLength: 1,
        maxLength: 7,
      }),
      fc.array(fc.tuple(fc.array(small, { maxLength: 6 }), fc.array(small, { maxLength: 6 })), {
        minLength: 1,
        maxLength: 4,
      }),
      fc.boolean(),
      (calls, inputs, fuse) => {
        const run = <T>(
          given: readonly T[],
          apply: (name: string, x: T, y: T, k: number) => T,
        ): T[] => {
          const values = [...given];
          for (const [name, a, b, k] of calls) {
            values.push(apply(name, values[a % values.length], values[b % values.length], k));
          }
          return values;
        };
        const whole = program([vector, second], (x, y) =>
          run<Value>([x, y], (name, a, b, k) => steps[name].value(a, b, k)),
        );
        const executable = compile(whole, { target: 'interpreter', fuse });
        for (const [x, y] of [...inputs, ...inputs]) {
          const expected = run<readonly number[]>([x, y], (name, a, b, k) =>
            steps[name].plain(a, b, k),
          );
          const results = executable.run([floats([x.length], x), floats([y.length], y)]);
          assert.deepEqual(results.map(elementsOf), expected);
          assert.deepEqual(
            results.map(({ shape }) => shape),
            expected.map(({ length }) => [length]),
          );
        }
        executable.release();
      },
    ),
    { seed: 4, numRuns: 150 },
  );
});
