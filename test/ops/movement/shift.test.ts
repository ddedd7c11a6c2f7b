import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ShapeError } from '../../../src/base/errors.js';
import { shift } from '../../../src/ops/index.js';
import { randomOperand } from '../../support/arrays.js';
import { elementAt, evaluate, expectElements, gradientsOf } from '../../support/evaluate.js';
import { floats } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(9);

test('shift moves elements and lets zeros in', () => {
  for (const extent of [0, 1, 2, 5]) {
    const x = randomOperand(random, [3, extent]);
    for (const count of [0, 1, -1, 2, -7, 2 ** 31, -(2 ** 32), 2 ** 40 + 1]) {
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
