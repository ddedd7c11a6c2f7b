import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import { concat, split, stack } from '../../../src/ops/index.js';
import { numbersOf, randomOperand } from '../../support/arrays.js';
import {
  elementAt,
  evaluate,
  expectElements,
  gradientsOf,
  inferred,
} from '../../support/evaluate.js';
import { floats, operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(4);

test('concat lays arrays out one after the other, empty ones included', () => {
  for (const dtype of ['float32', 'int64', 'bool', 'float16'] as const) {
    for (const axis of [0, 1, -1]) {
      const at = axis < 0 ? axis + 2 : axis;
      const extents = [2, 0, 3, 1];
      const parts = extents.map((extent) =>
        randomOperand(random, at === 0 ? [extent, 3] : [4, extent], dtype),
      );
      const shape = at === 0 ? [6, 3] : [4, 6];
      const owner = extents.flatMap((extent, part) =>
        Array.from({ length: extent }, (_, offset) => [part, offset]),
      );
      expectElements(
        parts,
        (...xs) => concat(xs, axis),
        shape,
        (index) => {
          const [part, offset] = owner[index[at]];
          return elementAt(parts[part], index.with(at, offset));
        },
      );
    }
  }
});

test('concat and stack promote', () => {
  const [y] = evaluate([operand('int32', [1], [2]), operand('float64', [1], [0.5])], (a, b) =>
    concat([a, b]),
  );
  assert.equal(y.storage.dtype, 'float64');
  assert.deepEqual(numbersOf(y), [2, 0.5]);
  const [z] = evaluate([operand('int64', [], [2n ** 53n + 1n])], (a) => stack([a, 7]));
  assert.deepEqual([...(z.storage.host as BigInt64Array)], [2n ** 53n + 1n, 7n]);
});

test('stack makes a new axis anywhere', () => {
  const parts = [randomOperand(random, [2, 3]), randomOperand(random, [2, 3])];
  expectElements(parts, (a, b) => stack([a, b]), [2, 2, 3], ([k, ...index]) => elementAt(parts[k], index)); // prettier-ignore
  expectElements(parts, (a, b) => stack([a, b], 1), [2, 2, 3], ([i, k, j]) => elementAt(parts[k], [i, j])); // prettier-ignore
  expectElements(parts, (a, b) => stack([a, b], -1), [2, 3, 2], ([i, j, k]) => elementAt(parts[k], [i, j])); // prettier-ignore
});

test('split cuts into equal parts or at positions', () => {
  const x = randomOperand(random, [6, 2]);
  const parts = evaluate([x], (v) => split(v, 3));
  assert.deepEqual(parts.map(({ shape }) => shape), [[2, 2], [2, 2], [2, 2]]); // prettier-ignore
  assert.deepEqual(parts.flatMap(numbersOf), numbersOf(x));
  const uneven = evaluate([x], (v) => split(v, [1, -1, 9]));
  assert.deepEqual(uneven.map(({ shape }) => shape[0]), [1, 4, 1, 0]); // prettier-ignore
  assert.deepEqual(uneven.flatMap(numbersOf), numbersOf(x));
  const columns = evaluate([x], (v) => split(v, 2, -1));
  assert.deepEqual(numbersOf(columns[1]), [1, 3, 5, 7, 9, 11].map((at) => numbersOf(x)[at])); // prettier-ignore
});

test('the gradient of each operand is its share', () => {
  const [a, b] = [floats([2], [1, 2]), floats([1], [3])];
  const weights = floats([3], [10, 20, 30]);
  assert.deepEqual(
    gradientsOf([a, b], (x, y) => concat([x, y]), weights),
    [[10, 20], [30]],
  );
  const pair = floats([2, 1], [5, 7]);
  const grads = gradientsOf([floats([1], [1]), floats([1], [2])], (x, y) => stack([x, y]), pair);
  assert.deepEqual(grads, [[5], [7]]);
  // Part 1 is used, the others are not.
  assert.deepEqual(
    gradientsOf([a], (x) => split(x, 2)[1]),
    [[0, 1]],
  );
  // Cuts out of order take elements twice: 0..2 and 1..2 of three.
  const three = floats([3], [1, 2, 3]);
  assert.deepEqual(
    gradientsOf([three], (x) => concat(split(x, [2, 1]))),
    [[1, 2, 1]],
  );
});

test('symbolic extents add up', () => {
  const [n, m] = [symbol('n'), symbol('m')];
  const types = [n, m].map((extent) => ({ dtype: 'float32' as const, shape: [extent, 2] }));
  assert.equal(
    inferred(types, (a, b) => concat([a, b, a])),
    'float32[m + 2*n, 2]',
  );
  // That n is m is then required.
  assert.equal(
    inferred(types, (a, b) => concat([a, b], 1)),
    'float32[n, 4]',
  );
});

test('mistakes are refused', () => {
  const x = floats([2, 3], [1, 2, 3, 4, 5, 6]);
  const run = (build: Parameters<typeof evaluate>[1]): unknown => evaluate([x], build);
  assert.throws(() => run(() => concat([])), ArgumentError);
  assert.throws(() => run((v) => concat(v as never)), /list of at least one array/);
  assert.throws(() => run((v) => concat([v, [1, 2]])), ShapeError);
  assert.throws(() => run((v) => concat([v, v], 2)), ShapeError);
  assert.throws(() => run((v) => stack([v, [[1, 2, 3]]])), /use concat/);
  assert.throws(() => run((v) => split(v, 2, 1)), /2 equal parts/);
  assert.throws(() => run((v) => split(v, 0)), ArgumentError);
});
