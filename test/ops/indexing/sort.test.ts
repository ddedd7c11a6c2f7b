import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import type { DType } from '../../../src/base/dtype.js';
import type { Element } from '../../../src/base/element.js';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import { argsort, searchsorted, sort, topK } from '../../../src/ops/index.js';
import { indicesOf, numbersOf, randomOperand } from '../../support/arrays.js';
import {
  elementAt,
  evaluate,
  expectElements,
  gradientsOf,
  inferred,
} from '../../support/evaluate.js';
import { elementsOf, floats, operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(15);

/** Less than 0 when `a` goes first in ascending order; NaN is greatest. */
function compare(a: Element, b: Element): number {
  const [aIsNaN, bIsNaN] = [Number.isNaN(a), Number.isNaN(b)];
  if (aIsNaN || bIsNaN) return Number(aIsNaN) - Number(bIsNaN);
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The positions in sorted order; JavaScript's own sort is stable too. */
function order(list: readonly Element[], descending: boolean): number[] {
  const sign = descending ? -1 : 1;
  return list.map((_, i) => i).sort((a, b) => sign * compare(list[a], list[b]));
}

test('sort and argsort agree with a stable sort along every axis', () => {
  for (const dtype of ['float64', 'float32', 'float16', 'int8', 'int64', 'bool'] as DType[]) {
    for (const shape of [
      [3, 8],
      [0, 2],
      [2, 0],
      [1, 1],
      [33, 2],
      [2, 5, 3],
    ]) {
      const x = randomOperand(random, shape, dtype);
      for (const axis of [0, shape.length - 1]) {
        const descending = axis === 0;
        const line = (index: readonly number[]): Element[] =>
          Array.from({ length: shape[axis] }, (_, k) => elementAt(x, index.with(axis, k)));
        expectElements(
          [x],
          (v) => argsort(v, axis, { descending }),
          shape,
          (index) => BigInt(order(line(index), descending)[index[axis]]),
        );
        expectElements(
          [x],
          (v) => sort(v, axis, { descending }),
          shape,
          (index) => {
            const list = line(index);
            return list[order(list, descending)[index[axis]]];
          },
        );
      }
    }
  }
});

test('NaN is greatest, zeros are equal, int64 is exact', () => {
  const list = [3, NaN, -0, Infinity, 0, -Infinity, NaN, 1];
  const x = operand('float64', [8], list);
  const run = (descending: boolean): Element[] =>
    elementsOf(evaluate([x], (v) => argsort(v, -1, { descending }))[0]).map(Number);
  assert.deepEqual(run(false), [5, 2, 4, 7, 0, 3, 1, 6]);
  assert.deepEqual(run(true), [1, 6, 3, 0, 7, 2, 4, 5]);
  const big = operand('int64', [3], [2n ** 60n + 1n, 2n ** 60n, -(2n ** 63n)]);
  const [sorted] = evaluate([big], (v) => sort(v));
  assert.deepEqual(elementsOf(sorted), [-(2n ** 63n), 2n ** 60n, 2n ** 60n + 1n]);
});

test('a thousand elements in worst-case orders', () => {
  const length = 1000;
  const patterns: readonly ((i: number) => number)[] = [
    (i) => i, (i) => -i, () => 7, (i) => (i * 7919) % 1000, (i) => i % 2,
  ]; // prettier-ignore
  for (const pattern of patterns) {
    const list = Array.from({ length }, (_, i) => pattern(i));
    const [y] = evaluate([floats([length], list)], (v) => argsort(v));
    assert.deepEqual(numbersOf(y), order(list, false));
  }
});

test('topK gives the first k of the order, with positions', () => {
  const x = randomOperand(random, [3, 6], 'int32');
  for (const k of [0, 1, 4, 6]) {
    for (const largest of [true, false]) {
      const [values, indices] = evaluate([x], (v) => topK(v, k, -1, { largest }));
      assert.deepEqual([values.shape, indices.shape], [[3, k], [3, k]]); // prettier-ignore
      for (const [i, j] of indicesOf([3, k])) {
        const row = Array.from({ length: 6 }, (_, at) => elementAt(x, [i, at]));
        const place = order(row, largest)[j];
        assert.equal(elementAt(indices, [i, j]), BigInt(place));
        assert.equal(elementAt(values, [i, j]), row[place]);
      }
    }
  }
  assert.throws(() => evaluate([x], (v) => topK(v, 7)), /axis 1 does not have 7 elements/);
  assert.throws(() => evaluate([x], (v) => topK(v, -1)), ArgumentError);
  assert.throws(() => evaluate([x], (v) => sort(v, 2)), ShapeError);
  const n = symbol('n', { min: 9 });
  const free = { dtype: 'float32' as const, shape: [n] };
  assert.equal(
    inferred([free], (v) => topK(v, 3).values),
    'float32[3]',
  );
});

test('a selection of any size is the beginning of the order', () => {
  for (const dtype of ['float32', 'int64'] as const) {
    const list = Array.from({ length: 200 }, (_, i) =>
      i % 17 === 5 ? NaN : Math.floor(random() * 40),
    );
    const elements = dtype === 'int64' ? list.map((x) => BigInt(Number.isNaN(x) ? 99 : x)) : list;
    const x = operand(dtype, [200], elements);
    for (const k of [1, 2, 17, 64, 65, 200]) {
      for (const largest of [true, false]) {
        const [values, indices] = evaluate([x], (v) => topK(v, k, 0, { largest }));
        const places = order(elements, largest).slice(0, k);
        assert.deepEqual(numbersOf(indices), places);
        assert.deepEqual(
          elementsOf(values),
          places.map((at) => elements[at]),
        );
      }
    }
  }
});

test('sorted elements take their gradients along', () => {
  const x = floats([4], [3, 1, 4, 2]);
  const weights = floats([4], [10, 20, 30, 40]);
  assert.deepEqual(
    gradientsOf([x], (v) => sort(v), weights),
    [[30, 10, 40, 20]],
  );
  assert.deepEqual(
    gradientsOf([x], (v) => topK(v, 2).values, floats([2], [5, 7])),
    [[7, 0, 5, 0]],
  );
  assert.deepEqual(
    gradientsOf([x], (v) => argsort(v)),
    [null],
  );
});

test('searchsorted finds where a value belongs', () => {
  for (const dtype of ['float32', 'int64'] as const) {
    for (const length of [0, 1, 2, 9, 16]) {
      const list = [...numbersOf(randomOperand(random, [length], 'int32'))].sort((a, b) => a - b);
      const sorted = operand(dtype, [length], dtype === 'int64' ? list.map(BigInt) : list);
      const values = randomOperand(random, [3, 4], dtype === 'int64' ? 'int64' : 'int8');
      const count = (test: (x: number) => boolean): bigint => BigInt(list.filter(test).length);
      const at = (index: readonly number[]): number => Number(elementAt(values, index));
      expectElements([sorted, values], (s, v) => searchsorted(s, v), [3, 4], (index) => count((x) => x < at(index))); // prettier-ignore
      expectElements([sorted, values], (s, v) => searchsorted(s, v, { side: 'right' }), [3, 4], (index) => count((x) => x <= at(index))); // prettier-ignore
    }
  }
  const sorted = floats([4], [1, 2, NaN, NaN]);
  const values = floats([3], [NaN, Infinity, 1]);
  const search = (side: 'left' | 'right'): number[] =>
    numbersOf(evaluate([sorted, values], (s, v) => searchsorted(s, v, { side }))[0]);
  assert.deepEqual(search('left'), [2, 2, 0]);
  assert.deepEqual(search('right'), [4, 2, 1]);
  assert.throws(() => evaluate([floats([1, 1], [1])], (s) => searchsorted(s, 1)), ShapeError);
  assert.throws(() => evaluate([sorted], (s) => searchsorted(s, 1, { side: 'up' as 'left' })), ArgumentError); // prettier-ignore
});
