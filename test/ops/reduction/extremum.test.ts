import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DType } from '../../../src/base/dtype.js';
import { argmax, argmin, max, min } from '../../../src/ops/index.js';
import { randomOperand } from '../../support/arrays.js';
import { elementAt, evaluate, expectElements, gradientsOf } from '../../support/evaluate.js';
import { elementsOf, floats, operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(11);

/** The first position that no other beats; NaN beats everything. */
function firstBest(list: readonly number[], sign: 1 | -1): number {
  const nan = list.findIndex(Number.isNaN);
  if (nan >= 0) return nan;
  return list.reduce((best, x, at) => (sign * (x - list[best]) > 0 ? at : best), 0);
}

test('argmax and argmin find the first of the best along an axis', () => {
  for (const dtype of ['float64', 'float32', 'float16', 'int8', 'int64', 'bool'] as DType[]) {
    for (const [rows, columns] of [
      [3, 4],
      [5, 1],
      [2, 37],
      [19, 3],
    ]) {
      const x = randomOperand(random, [rows, columns], dtype);
      const column = (j: number): number[] => Array.from({ length: rows }, (_, i) => Number(elementAt(x, [i, j]))); // prettier-ignore
      const row = (i: number): number[] => Array.from({ length: columns }, (_, j) => Number(elementAt(x, [i, j]))); // prettier-ignore
      expectElements(
        [x],
        (v) => argmax(v, 0),
        [columns],
        ([j]) => BigInt(firstBest(column(j), 1)),
      );
      expectElements(
        [x],
        (v) => argmin(v, 0),
        [columns],
        ([j]) => BigInt(firstBest(column(j), -1)),
      );
      expectElements(
        [x],
        (v) => argmax(v, -1),
        [rows],
        ([i]) => BigInt(firstBest(row(i), 1)),
      );
      expectElements([x], (v) => argmin(v, 1, { keepdims: true }), [rows, 1], ([i]) => BigInt(firstBest(row(i), -1))); // prettier-ignore
      const all = elementsOf(x).map(Number);
      expectElements(
        [x],
        (v) => argmax(v),
        [],
        () => BigInt(firstBest(all, 1)),
      );
      expectElements(
        [x],
        (v) => argmin(v),
        [],
        () => BigInt(firstBest(all, -1)),
      );
    }
  }
});

test('NaN wins, infinities count, zeros are equal', () => {
  const lists = [
    [1, NaN, 3, NaN],
    [-Infinity, -Infinity],
    [Infinity, 2, Infinity],
    [-0, 0, -0],
    [NaN],
    Array.from({ length: 40 }, (_, i) => (i === 33 ? NaN : i)),
  ];
  for (const list of lists) {
    for (const dtype of ['float32', 'float64', 'bfloat16'] as const) {
      const x = operand(dtype, [list.length], list);
      expectElements(
        [x],
        (v) => argmax(v),
        [],
        () => BigInt(firstBest(list, 1)),
      );
      expectElements(
        [x],
        (v) => argmin(v),
        [],
        () => BigInt(firstBest(list, -1)),
      );
      expectElements([x], (v) => max(v), [], () => list.some(Number.isNaN) ? NaN : Math.max(...list)); // prettier-ignore
      expectElements([x], (v) => min(v), [], () => list.some(Number.isNaN) ? NaN : Math.min(...list)); // prettier-ignore
    }
  }
});

test('the extremes of every dtype survive', () => {
  const ends: readonly (readonly [DType, readonly (number | bigint)[]])[] = [
    ['int8', [-128, 127]],
    ['uint8', [0, 255]],
    ['int32', [-(2 ** 31), 2 ** 31 - 1]],
    ['int64', [-(2n ** 63n), 2n ** 63n - 1n]],
  ];
  for (const [dtype, [low, high]] of ends) {
    const only = (element: number | bigint) => operand(dtype, [1], [element]);
    expectElements(
      [only(low)],
      (v) => max(v),
      [],
      () => low,
    );
    expectElements(
      [only(high)],
      (v) => min(v),
      [],
      () => high,
    );
    expectElements(
      [only(low)],
      (v) => argmax(v),
      [],
      () => 0n,
    );
    expectElements(
      [only(high)],
      (v) => argmin(v),
      [],
      () => 0n,
    );
  }
  const close = operand('int64', [2], [2n ** 60n, 2n ** 60n + 1n]);
  assert.deepEqual(elementsOf(evaluate([close], (v) => argmax(v))[0]), [1n]);
});

test('ties share the gradient, and nothing else gets any', () => {
  const x = floats([2, 3], [1, 5, 5, 2, 2, 2]);
  const weights = floats([2], [6, 9]);
  assert.deepEqual(
    gradientsOf([x], (v) => max(v, 1), weights),
    [[0, 3, 3, 3, 3, 3]],
  );
  assert.deepEqual(
    gradientsOf([x], (v) => min(v, 1), weights),
    [[6, 0, 0, 3, 3, 3]],
  );
  assert.deepEqual(
    gradientsOf([x], (v) => max(v)),
    [[0, 0.5, 0.5, 0, 0, 0]],
  );
  assert.deepEqual(
    gradientsOf([x], (v) => argmax(v)),
    [null],
  );
});
