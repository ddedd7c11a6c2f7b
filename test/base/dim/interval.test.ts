import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  maxInterval,
  hull,
  type Interval,
  minInterval,
  plus,
  times,
} from '../../../src/base/dim/interval.js';

const number = fc.integer({ min: -9, max: 9 });
/** An interval, some without an end, and a number in it. */
const member = fc
  .tuple(number, number, number, fc.boolean(), fc.boolean())
  .map(([a, b, c, isBelow, isAbove]): { readonly x: number; readonly of: Interval } => {
    const [min, x, max] = [a, b, c].sort((p, q) => p - q);
    return { x, of: { min: isBelow ? -Infinity : min, max: isAbove ? Infinity : max } };
  });

const holds = ({ min, max }: Interval, x: number): boolean => min <= x && x <= max;

test('what comes of numbers lies in what comes of their intervals', () => {
  fc.assert(
    fc.property(member, member, (a, b) => {
      assert.ok(holds(plus(a.of, b.of), a.x + b.x));
      assert.ok(holds(times(a.of, b.of), a.x * b.x));
      assert.ok(holds(minInterval(a.of, b.of), Math.min(a.x, b.x)));
      assert.ok(holds(maxInterval(a.of, b.of), Math.max(a.x, b.x)));
      for (const x of [a.x, b.x]) assert.ok(holds(hull(a.of, b.of), x));
    }),
    { seed: 3, numRuns: 2000 },
  );
});

test('of finite intervals the ends are reached', () => {
  const finite = member.filter(({ of }) => Number.isFinite(of.min) && Number.isFinite(of.max));
  const numbers = ({ min, max }: Interval): number[] =>
    Array.from({ length: max - min + 1 }, (_, i) => min + i);
  fc.assert(
    fc.property(finite, finite, ({ of: x }, { of: y }) => {
      const exact = (f: (a: number, b: number) => number): Interval => {
        const all = numbers(x).flatMap((a) => numbers(y).map((b) => f(a, b) + 0));
        return { min: Math.min(...all), max: Math.max(...all) };
      };
      const { min, max } = times(x, y);
      assert.deepEqual(
        plus(x, y),
        exact((a, b) => a + b),
      );
      assert.deepEqual(
        { min: min + 0, max: max + 0 },
        exact((a, b) => a * b),
      );
      assert.deepEqual(minInterval(x, y), exact(Math.min));
      assert.deepEqual(maxInterval(x, y), exact(Math.max));
    }),
    { seed: 5, numRuns: 300 },
  );
});
