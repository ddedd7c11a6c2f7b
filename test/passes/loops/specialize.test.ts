import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundsOf } from '../../../src/base/dim/index.js';
import { verify } from '../../../src/ir/verify.js';
import { specialized } from '../../../src/passes/loops/specialize.js';
import { parse } from '../../support/program-texts.js';

test('a size that the data decides among known rows is bounded by their number', () => {
  const region = parse(`program {
    dim 0 <= n <= 5
    dim 0 <= count_0 <= 5
    input x: float32[n, 3]
    input m: bool[n]
    %0 = booleanMask(x, m): float32[count_0, 3] decides [count_0 <= n]
    %1 = exp(%0): float32[count_0, 3]
    output y = %1
  }`);
  const made = specialized(region, new Map([['n', 2]]));
  verify(made);
  const [{ value }] = made.outputs;
  assert.deepEqual(boundsOf(value.type.shape[0]), { min: 0, max: 2 });
});
