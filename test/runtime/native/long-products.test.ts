import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { longProducts, together } from '../../ops/contraction/long-products.js';
import { canCompile, reached, withTier } from './support.js';

kn.config.threads = 2;

for (const isAny of [false, true]) {
  const sizes = isAny ? 'sizes that are not known' : 'known sizes';
  test(`${reached}, two threads: long sums of ${sizes} keep their digits`, () => {
    withTier({}, () => {
      const all = longProducts(100_003);
      // Code for all sizes takes the compiler long: some of it will do.
      const products = isAny ? all.filter((_, i) => i % 5 === 0) : all;
      const { code, operands, dynamic, check } = together(products);
      const captured = kn.hybridize(code, {
        tier: 'native',
        verify: 'off',
        dynamic: isAny ? dynamic : null,
      });
      check(captured(...operands));
      for (const { tier, reason } of captured.explain().traces.flatMap(({ tiers }) => tiers)) {
        assert.equal(tier, reached, String(reason));
        assert.equal(reason === null, canCompile);
      }
    });
  });
}
