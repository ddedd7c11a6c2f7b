import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Stopwatch } from '../../../src/runtime/native/stopwatch.js';

/** Runs that take as long as `durations` says, of which the stopwatch sees only some. */
function watched(
  durations: (run: number) => number,
  runs: number,
): { watch: Stopwatch; looks: number; real: number } {
  const watch = new Stopwatch();
  let real = 0;
  let looks = 0;
  let skipped = 0;
  let left = 0;
  for (let run = 0; run < runs; run++) {
    real += durations(run);
    if (left-- > 0) continue;
    looks++;
    skipped = watch.add(durations(run), skipped);
    left = skipped;
  }
  return { watch, looks, real };
}

test('long runs are all timed, short ones seldom; the total is about right', () => {
  const long = watched(() => 2, 50);
  assert.equal(long.looks, 50);
  assert.ok(Math.abs(long.watch.total - long.real) < 1e-9);
  const short = watched(() => 0.0004, 1e6);
  assert.ok(short.looks < 6000, `${short.looks}`);
  assert.ok(Math.abs(short.watch.total - short.real) < 1);
  assert.ok(Math.abs(short.watch.runs - 1e6) <= 1000);
  const least = watched(() => 0, 1e6);
  assert.ok(least.looks < 2000 && least.watch.total === 0);
});

test('one run that was interrupted does not speak for those that were not timed', () => {
  const { watch, real } = watched((run) => (run % 100_003 === 251 ? 30 : 0.0004), 1e6);
  assert.ok(watch.total < real + 30, `${watch.total} of ${real}`);
});
