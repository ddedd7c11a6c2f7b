import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ShapeError } from '../../../src/base/errors.js';
import { meshgrid, shift } from '../../../src/ops/index.js';
import { numbersOf, randomOperand } from '../../support/arrays.js';
import { elementAt, evaluate, expectElements, gradientsOf } from '../../support/evaluate.js';
import { floats } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(9);

test('shift moves elements and lets zeros in', () => {
  for (const extent of [0, 1, 2, 5]) {
    const x = randomOperand(random, [3, extent]);
    for (const count of [0, 1, -1, 2, -7]) {
      expectElements(
        [x],
        (v) => shift(v, count),
        [3, extent],
        ([i, j]) => (j - count >= 0 && j - count < extent ? elementAt(x, [i, j - count]) : 0),
      );
    }
  }
  // What leaves is lost, and has no gradient.
  const x = floats([3], [1, 2, 3]);
  assert.deepEqual(
    gradientsOf([x], (v) => shift(v, 1), floats([3], [5, 6, 7])),
    [[6, 7, 0]],
  );
  assert.throws(() => evaluate([x], (v) => shift(v, 1, 1)), ShapeError);
});

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
