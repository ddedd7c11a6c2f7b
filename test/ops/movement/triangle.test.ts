import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ShapeError } from '../../../src/base/errors.js';
import { tril, triu } from '../../../src/ops/index.js';
import { numbersOf, randomOperand } from '../../support/arrays.js';
import { elementAt, evaluate, expectElements } from '../../support/evaluate.js';
import { floats } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(18);
const shapes = [[3, 4], [4, 3], [1, 1], [0, 2], [2, 0]]; // prettier-ignore

test('tril and triu zero the other side of a diagonal', () => {
  for (const shape of [...shapes, [2, 3, 3]]) {
    for (const dtype of ['float32', 'int64'] as const) {
      const x = randomOperand(random, shape, dtype);
      const zero = dtype === 'int64' ? 0n : 0;
      for (const k of [-4, -1, 0, 1, 9, 2 ** 31, -(2 ** 32), 2 ** 40 + 1]) {
        const side = (index: readonly number[]): number => index.at(-1)! - index.at(-2)! - k;
        expectElements([x], (v) => tril(v, k), shape, (index) => side(index) <= 0 ? elementAt(x, index) : zero); // prettier-ignore
        expectElements([x], (v) => triu(v, k), shape, (index) => side(index) >= 0 ? elementAt(x, index) : zero); // prettier-ignore
      }
    }
  }
  // What is cut off has no influence, NaN included.
  const [y] = evaluate([floats([2, 2], [1, NaN, 2, 3])], (v) => tril(v));
  assert.deepEqual(numbersOf(y), [1, 0, 2, 3]);
  assert.throws(() => evaluate([floats([2], [1, 2])], (v) => triu(v)), ShapeError);
});
