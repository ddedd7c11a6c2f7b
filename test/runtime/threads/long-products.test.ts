import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { longProducts, together } from '../../ops/contraction/long-products.js';

kn.config.threads = 2;

test('two threads add long sums up as one does', () => {
  const { code, operands, check } = together(longProducts(100_003));
  const run = (threads: number): readonly kn.NDArray[] => {
    kn.config.threads = threads;
    return kn.hybridize((...arrays: kn.NDArray[]) => code(...arrays))(...operands);
  };
  const [two, one] = [run(2), run(1)];
  check(two);
  two.forEach((result, i) => assert.deepEqual(result.dataSync(), one[i].dataSync(), `result ${i}`));
});
