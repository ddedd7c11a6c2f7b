import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { canCompile, reached, withTier } from './support.js';

/** Rows and weights for which native code reads weights in place, copies panels of them, or turns them. */
const shapes = [
  { m: 16, k: 128, n: 512, isTurned: false },
  { m: 130, k: 300, n: 400, isTurned: false },
  { m: 24, k: 200, n: 300, isTurned: true },
] as const;

/** Small whole numbers, so that products are exact in any order. */
const whole = (shape: readonly number[], seed: number): kn.NDArray =>
  kn.floor(kn.random.uniform(shape, { low: -3, high: 4 })).add(seed % 2);

test(`${reached} code that keeps weights gives what code gives that does not`, () => {
  withTier({}, () => {
    kn.random.seed(5);
    for (const { m, k, n, isTurned } of shapes) {
      const product = (x: kn.NDArray, w: kn.NDArray): kn.NDArray =>
        kn.matmul(x, isTurned ? w.transpose() : w);
      const kept = kn.hybridize(product, { tier: canCompile ? 'native' : 'wasm' });
      const weights = [1, 2].map((seed) => whole(isTurned ? [n, k] : [k, n], seed));
      for (const at of [0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0, 0]) {
        const x = whole([m, k], at);
        // One row at a time keeps nothing.
        const rows = Array.from({ length: m }, (_, i) => product(x.slice([i, i + 1]), weights[at]));
        assert.deepEqual(kept(x, weights[at]).dataSync(), kn.concat(rows, 0).dataSync());
      }
      const tiers = kept.explain().traces.flatMap((trace) => trace.tiers);
      assert.deepEqual(tiers.map(({ tier }) => tier), [reached]); // prettier-ignore
    }
  });
});
