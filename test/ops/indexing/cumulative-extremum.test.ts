import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ShapeError } from '../../../src/base/errors.js';
import { cummax, cummaxPosition, cummin } from '../../../src/ops/index.js';
import { numbersOf, randomOperand } from '../../support/arrays.js';
import { elementAt, evaluate, expectElements, gradientsOf } from '../../support/evaluate.js';
import { floats } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(16);

test('cummax and cummin are the extrema of what has been seen', () => {
  for (const dtype of ['float32', 'int8', 'int64', 'bool'] as const) {
    for (const shape of [[4, 3], [0, 2], [1, 1], [7]]) {
      const x = randomOperand(random, shape, dtype);
      for (let axis = 0; axis < shape.length; axis++) {
        for (const reverse of [false, true]) {
          const seen = (index: readonly number[]) =>
            Array.from({ length: shape[axis] }, (_, k) => k)
              .filter((k) => (reverse ? k >= index[axis] : k <= index[axis]))
              .map((k) => elementAt(x, index.with(axis, k)));
          expectElements([x], (v) => cummax(v, axis, { reverse }), shape, (index) => seen(index).reduce((a, b) => (b > a ? b : a))); // prettier-ignore
          expectElements([x], (v) => cummin(v, axis, { reverse }), shape, (index) => seen(index).reduce((a, b) => (b < a ? b : a))); // prettier-ignore
        }
      }
    }
  }
  assert.throws(() => evaluate([floats([1], [1])], (v) => cummax(v, 1)), ShapeError);
});

test('NaN stays from where it appears', () => {
  const x = floats([4], [1, NaN, 5, NaN]);
  assert.deepEqual(numbersOf(evaluate([x], (v) => cummax(v, 0))[0]), [1, NaN, NaN, NaN]);
  assert.deepEqual(numbersOf(evaluate([x], (v) => cummin(v, 0))[0]), [1, NaN, NaN, NaN]);
  assert.deepEqual(numbersOf(evaluate([x], (v) => cummaxPosition(v, 0))[0]), [0, 1, 1, 3]);
});

test('the gradient goes to the last of equal elements', () => {
  const x = floats([5], [2, 1, 2, 3, 0]);
  const weights = floats([5], [1, 10, 100, 1000, 10000]);
  assert.deepEqual(
    gradientsOf([x], (v) => cummax(v, 0), weights),
    [[11, 0, 100, 11000, 0]],
  );
  assert.deepEqual(
    gradientsOf([x], (v) => cummin(v, 0), weights),
    [[1, 1110, 0, 0, 10000]],
  );
});
