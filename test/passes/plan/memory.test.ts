import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { InternalError } from '../../../src/base/errors.js';
import {
  alignment,
  type LiveRange,
  planMemory,
  RegionAllocator,
} from '../../../src/passes/plan/memory.js';

const seed = 20261121;

/** Things that lie in memory, and that no two of them share a byte. */
function checkDisjoint(
  things: readonly { readonly offset: number; readonly bytes: number }[],
): void {
  const sorted = things.toSorted((a, b) => a.offset - b.offset);
  sorted.forEach(({ offset }, i) => {
    assert.equal(offset % alignment, 0);
    if (i > 0)
      assert.ok(sorted[i - 1].offset + sorted[i - 1].bytes <= offset, 'two regions overlap');
  });
}

test('regions are aligned and disjoint whatever is taken and released', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(500), fc.boolean(), fc.nat(20))), (actions) => {
      const regions = new RegionAllocator(alignment);
      const taken: { offset: number; bytes: number }[] = [];
      for (const [bytes, isRelease, which] of actions) {
        if (isRelease && taken.length > 0) {
          const [{ offset }] = taken.splice(which % taken.length, 1);
          regions.release(offset);
        } else taken.push({ offset: regions.take(bytes), bytes });
        checkDisjoint(taken);
        const end = Math.max(alignment, ...taken.map(({ offset, bytes }) => offset + bytes));
        assert.ok(regions.end >= end && regions.end <= regions.peak);
      }
      for (const { offset } of taken) regions.release(offset);
      assert.equal(regions.end, alignment, 'all memory is given back in the end');
    }),
    { seed, numRuns: 200 },
  );
});

test('the smallest region that is large enough is reused', () => {
  const regions = new RegionAllocator();
  const [large, between, small] = [1024, 64, 128].map((bytes) => regions.take(bytes));
  regions.take(64);
  regions.release(large);
  regions.release(small);
  assert.equal(regions.take(100), small);
  assert.equal(regions.take(960), large);
  assert.equal(regions.take(64), large + 960);
  regions.release(between);
  assert.throws(() => regions.release(between), InternalError);
});

const lifetimes: fc.Arbitrary<LiveRange[]> = fc.array(
  fc
    .tuple(fc.nat(700), fc.nat(20), fc.nat(6))
    .map(([bytes, first, length]) => ({ bytes, first: first - 1, last: first - 1 + length })),
);

test('what lives at the same step never overlaps', () => {
  fc.assert(
    fc.property(lifetimes, (things) => {
      const { offsets, bytes } = planMemory(things);
      for (let step = -1; step < 30; step++) {
        checkDisjoint(
          things.flatMap((thing, i) =>
            thing.first <= step && step <= thing.last
              ? [{ offset: offsets[i], bytes: thing.bytes }]
              : [],
          ),
        );
      }
      things.forEach((thing, i) => assert.ok(offsets[i] + thing.bytes <= bytes));
    }),
    { seed, numRuns: 200 },
  );
});

test('a chain needs two places however long it is', () => {
  const chain = Array.from({ length: 100 }, (_, i) => ({ bytes: 640, first: i, last: i + 1 }));
  assert.equal(planMemory(chain).bytes, 2 * 640);
});
