import assert from 'node:assert/strict';
import { test } from 'node:test';
import { meshgrid } from '../../../src/ops/index.js';
import { numbersOf } from '../../support/arrays.js';
import { evaluate, gradientsOf } from '../../support/evaluate.js';
import { floats } from '../../support/programs.js';

test('meshgrid repeats each axis along the others', () => {
  const axes = [floats([2], [1, 2]), floats([3], [10, 20, 30])];
  const [xs, ys] = evaluate(axes, (a, b) => meshgrid([a, b]));
  assert.deepEqual(
    [xs.shape, numbersOf(xs)],
    [
      [3, 2],
      [1, 2, 1, 2, 1, 2],
    ],
  );
  assert.deepEqual(
    [ys.shape, numbersOf(ys)],
    [
      [3, 2],
      [10, 10, 20, 20, 30, 30],
    ],
  );
  const [is, js] = evaluate(axes, (a, b) => meshgrid([a, b], { indexing: 'ij' }));
  assert.deepEqual(
    [is.shape, numbersOf(is)],
    [
      [2, 3],
      [1, 1, 1, 2, 2, 2],
    ],
  );
  assert.deepEqual(numbersOf(js), [10, 20, 30, 10, 20, 30]);
  assert.deepEqual(
    gradientsOf(axes, (a, b) => meshgrid([a, b])[1]),
    [null, [2, 2, 2]],
  );
  assert.throws(() => evaluate([floats([1, 1], [1])], (v) => meshgrid([v])), /rank 1/);
});
