import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import { moveaxis, swapaxes, transpose } from '../../../src/ops/index.js';
import { randomOperand } from '../../support/arrays.js';
import { elementAt, evaluate, expectElements } from '../../support/evaluate.js';
import { floats } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(1);

/** Checks that axis `k` of the result is axis `order[k]` of the operand. */
function checkOrder(
  shape: readonly number[],
  order: readonly number[],
  build: Parameters<typeof evaluate>[1],
): void {
  for (const dtype of ['float32', 'int64', 'bool', 'bfloat16'] as const) {
    const x = randomOperand(random, shape, dtype);
    const permuted = order.map((axis) => shape[axis]);
    expectElements(
      [x],
      (v) => build(v) as never,
      permuted,
      (index) => {
        const from: number[] = [];
        order.forEach((axis, k) => (from[axis] = index[k]));
        return elementAt(x, from);
      },
    );
  }
}

test('transpose permutes axes, and reverses them by default', () => {
  for (const shape of [
    [2, 3, 4],
    [0, 2, 3],
    [1, 5, 1],
  ]) {
    checkOrder(shape, [2, 1, 0], (x) => transpose(x));
    checkOrder(shape, [2, 0, 1], (x) => transpose(x, [2, 0, 1]));
    checkOrder(shape, [1, 0, 2], (x) => transpose(x, [-2, 0, -1]));
  }
  checkOrder([], [], (x) => transpose(x));
  checkOrder([3], [0], (x) => transpose(x));
});

test('swapaxes and moveaxis are the permutations their names say', () => {
  checkOrder([2, 3, 4], [2, 1, 0], (x) => swapaxes(x, 0, -1));
  checkOrder([2, 3, 4], [0, 1, 2], (x) => swapaxes(x, 1, 1));
  checkOrder([2, 3, 4], [1, 2, 0], (x) => moveaxis(x, 0, -1));
  checkOrder([2, 3, 4], [2, 0, 1], (x) => moveaxis(x, 2, 0));
  checkOrder([2, 3, 4, 5], [1, 2, 3, 0], (x) => moveaxis(x, [0, 1], [-1, 0]));
});

test('orders that are no permutation are refused', () => {
  const x = floats([2, 3], [1, 2, 3, 4, 5, 6]);
  const run = (build: Parameters<typeof evaluate>[1]): unknown => evaluate([x], build);
  assert.throws(() => run((v) => transpose(v, [0])), ArgumentError);
  assert.throws(() => run((v) => transpose(v, [0, 0])), ArgumentError);
  assert.throws(() => run((v) => transpose(v, [0, 2])), /from -2 to 1/);
  assert.throws(() => run((v) => swapaxes(v, 0, 2)), ShapeError);
  assert.throws(() => run((v) => moveaxis(v, [0, 1], [0])), /1 destinations|2 destinations/);
  assert.throws(() => run((v) => moveaxis(v, [0, 0], [0, 1])), ArgumentError);
});
