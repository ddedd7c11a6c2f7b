import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { benchModule } from './load.js';

interface Statistics {
  relativeError(out: ArrayLike<number>, reference: ArrayLike<number>): number;
  summarize(times: number[]): { best: number; median: number; noise: number; rounds: number[] };
  leastMilliseconds(
    work: { operations?: number; bytes?: number },
    rates: { compute?: number; copy?: number },
  ): { milliseconds: number; by: string };
}

const { relativeError, summarize, leastMilliseconds } = (await benchModule(
  'harness/statistics.mjs',
)) as Statistics;

describe('statistics of the benchmark', () => {
  it('measures errors by the length of the difference', () => {
    assert.equal(relativeError([3, 4], [3, 4]), 0);
    assert.equal(relativeError([3, 5], [3, 4]), 1 / 5);
  });

  it('takes no number for any, and no other length', () => {
    assert.equal(relativeError([Number.NaN, 4], [3, 4]), Infinity);
    assert.equal(relativeError([3], [3, 4]), Infinity);
  });

  it('finds the least and the middle, and keeps the order of the rounds', () => {
    const odd = summarize([5, 1, 3]);
    assert.deepEqual([odd.best, odd.median, odd.noise], [1, 3, 3]);
    assert.deepEqual(odd.rounds, [5, 1, 3]);
    assert.equal(summarize([4, 2, 8, 6]).median, 5);
  });

  it('asks of a machine the slower of computing and copying', () => {
    // 2e9 operations at 100 GFLOP/s are 20 ms, 1e9 bytes at 10 GB/s are 100 ms.
    const rates = { compute: 100, copy: 10 };
    assert.deepEqual(leastMilliseconds({ operations: 2e9, bytes: 1e9 }, rates), {
      milliseconds: 100,
      by: 'copy',
    });
    assert.deepEqual(leastMilliseconds({ operations: 2e9 }, rates), {
      milliseconds: 20,
      by: 'compute',
    });
  });
});
