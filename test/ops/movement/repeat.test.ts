import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import { repeat, tile } from '../../../src/ops/index.js';
import { indicesOf, randomOperand } from '../../support/arrays.js';
import {
  elementAt,
  evaluate,
  expectElements,
  gradientsOf,
  inferred,
} from '../../support/evaluate.js';
import { floats } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(5);

test('tile lays copies side by side, adding axes on either side', () => {
  for (const shape of [[2, 3], [1, 1], [0, 3], [3]]) {
    for (const repeats of [[2, 2], [1, 3], [3], [0, 2], [2, 1, 2]]) {
      const x = randomOperand(random, shape, 'int32');
      const rank = Math.max(shape.length, repeats.length);
      const pad = (list: readonly number[]): number[] => [
        ...Array.from({ length: rank - list.length }, () => 1),
        ...list,
      ];
      const result = pad(shape).map((extent, axis) => extent * pad(repeats)[axis]);
      expectElements(
        [x],
        (v) => tile(v, repeats),
        result,
        (index) =>
          elementAt(
            x,
            index.slice(rank - shape.length).map((at, axis) => at % shape[axis]),
          ),
      );
    }
  }
});

test('repeat repeats elements in place', () => {
  for (const shape of [
    [2, 3],
    [1, 1],
    [2, 0],
  ]) {
    for (const count of [0, 1, 3]) {
      const x = randomOperand(random, shape, 'float32');
      expectElements([x], (v) => repeat(v, count, 1), [shape[0], shape[1] * count], ([i, j]) => elementAt(x, [i, Math.floor(j / count)])); // prettier-ignore
      const order = indicesOf(shape);
      expectElements([x], (v) => repeat(v, count), [order.length * count], ([k]) => elementAt(x, order[Math.floor(k / count)])); // prettier-ignore
    }
  }
});

test('each copy hands its gradient to the original', () => {
  const x = floats([3], [1, 2, 3]);
  const weights = floats([6], [1, 2, 3, 4, 5, 6]);
  assert.deepEqual(
    gradientsOf([x], (v) => tile(v, 2), weights),
    [[5, 7, 9]],
  );
  assert.deepEqual(
    gradientsOf([x], (v) => repeat(v, 2), weights),
    [[3, 7, 11]],
  );
});

test('repeats may be symbolic, and are never negative', () => {
  const n = symbol('n');
  const type = { dtype: 'float32' as const, shape: [n, 2] };
  assert.equal(
    inferred([type], (v) => tile(v, [n, 1])),
    'float32[n*n, 2]',
  );
  assert.equal(
    inferred([type], (v) => repeat(v, 3, 0)),
    'float32[3*n, 2]',
  );
  const x = floats([1], [1]);
  assert.throws(() => evaluate([x], (v) => tile(v, [-1])), ShapeError);
  assert.throws(() => evaluate([x], (v) => repeat(v, -1)), ArgumentError);
  assert.throws(() => evaluate([x], (v) => repeat(v, 2, 1)), /from -1 to 0/);
});
