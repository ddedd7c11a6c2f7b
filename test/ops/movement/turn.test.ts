import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import { flip, roll, rot90 } from '../../../src/ops/index.js';
import { indicesOf, positionOf, randomOperand } from '../../support/arrays.js';
import { elementAt, evaluate, expectElements } from '../../support/evaluate.js';
import { floats } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(6);
const shapes = [[3, 4], [1, 5], [0, 2], [2, 1]]; // prettier-ignore

test('flip reverses axes', () => {
  for (const shape of shapes) {
    const x = randomOperand(random, shape, 'int64');
    const mirror = (index: readonly number[], axes: readonly number[]): number[] =>
      index.map((at, axis) => (axes.includes(axis) ? shape[axis] - 1 - at : at));
    expectElements(
      [x],
      (v) => flip(v),
      shape,
      (index) => elementAt(x, mirror(index, [0, 1])),
    );
    expectElements(
      [x],
      (v) => flip(v, -1),
      shape,
      (index) => elementAt(x, mirror(index, [1])),
    );
    expectElements(
      [x],
      (v) => flip(v, [0]),
      shape,
      (index) => elementAt(x, mirror(index, [0])),
    );
    expectElements(
      [x],
      (v) => flip(v, []),
      shape,
      (index) => elementAt(x, index),
    );
  }
});

test('roll moves elements round, by any number of places', () => {
  const mod = (a: number, n: number): number => ((a % n) + n) % n;
  for (const shape of shapes) {
    const x = randomOperand(random, shape, 'float32');
    for (const shift of [0, 1, -1, 3, -7, 100]) {
      const order = indicesOf(shape);
      expectElements(
        [x],
        (v) => roll(v, shift),
        shape,
        (index) => elementAt(x, order[mod(positionOf(index, shape) - shift, order.length)]),
      );
      expectElements([x], (v) => roll(v, shift, 1), shape, ([i, j]) => elementAt(x, [i, mod(j - shift, shape[1])])); // prettier-ignore
      expectElements(
        [x],
        (v) => roll(v, [shift, 2], [0, -1]),
        shape,
        ([i, j]) => elementAt(x, [mod(i - shift, shape[0]), mod(j - 2, shape[1])]),
      );
    }
  }
});

test('rot90 turns from the first axis towards the second', () => {
  // NumPy: rot90([[1, 2], [3, 4]]) is [[2, 4], [1, 3]].
  const x = randomOperand(random, [2, 3], 'float32');
  expectElements(
    [x],
    (v) => rot90(v),
    [3, 2],
    ([i, j]) => elementAt(x, [j, 2 - i]),
  );
  expectElements(
    [x],
    (v) => rot90(v, 2),
    [2, 3],
    ([i, j]) => elementAt(x, [1 - i, 2 - j]),
  );
  expectElements(
    [x],
    (v) => rot90(v, 3),
    [3, 2],
    ([i, j]) => elementAt(x, [1 - j, i]),
  );
  expectElements(
    [x],
    (v) => rot90(v, -1),
    [3, 2],
    ([i, j]) => elementAt(x, [1 - j, i]),
  );
  expectElements(
    [x],
    (v) => rot90(v, 4),
    [2, 3],
    (index) => elementAt(x, index),
  );
  expectElements(
    [x],
    (v) => rot90(v, 1, [1, 0]),
    [3, 2],
    ([i, j]) => elementAt(x, [1 - j, i]),
  );
});

test('mistakes are refused', () => {
  const x = floats([2, 2], [1, 2, 3, 4]);
  assert.throws(() => evaluate([x], (v) => flip(v, 2)), ShapeError);
  assert.throws(() => evaluate([x], (v) => roll(v, [1, 2], 0)), ArgumentError);
  assert.throws(() => evaluate([x], (v) => roll(v, [1, 2])), /one shift/);
  assert.throws(() => evaluate([x], (v) => rot90(v, 1, [0, 0])), ArgumentError);
});
