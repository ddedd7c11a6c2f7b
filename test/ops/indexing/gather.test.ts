import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import type { Element } from '../../../src/base/element.js';
import { ArgumentError, DTypeError, ShapeError } from '../../../src/base/errors.js';
import { gather, oneHot, scatter, scatterAdd } from '../../../src/ops/index.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { indicesOf, numbersOf, positionOf, randomOperand, sizeOf } from '../../support/arrays.js';
import {
  elementAt,
  evaluate,
  expectElements,
  gradientsOf,
  inferred,
} from '../../support/evaluate.js';
import { elementsOf, floats, operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(14);

function randomIndices(shape: readonly number[], extent: number): Operand {
  return operand('int32', shape, Array.from({ length: sizeOf(shape) }, () => Math.floor(random() * 2 * extent) - extent)); // prettier-ignore
}

/** The index with its entry along an axis replaced by the position that `indices` names there. */
function redirected(
  index: readonly number[],
  indices: Operand,
  axis: number,
  extent: number,
): number[] {
  const raw = Number(elementAt(indices, index));
  return index.with(axis, raw < 0 ? raw + extent : raw);
}

const cases: readonly (readonly [readonly number[], readonly number[], number])[] = [
  [[3, 4], [3, 6], 1],
  [[3, 4], [2, 4], 0],
  [[3, 4], [2, 3], 1],
  [[5], [7], -1],
  [[2, 3, 4], [2, 5, 4], 1],
  [[1, 1], [1, 1], 0],
  [[2, 3], [0, 3], 0],
  [[0, 3], [0, 2], 1],
]; // prettier-ignore

test('gather reads along an axis', () => {
  for (const dtype of ['float32', 'int64', 'bool'] as const) {
    for (const [shape, count, axis] of cases) {
      const at = axis < 0 ? axis + shape.length : axis;
      const x = randomOperand(random, shape, dtype);
      const indices = randomIndices(count, shape[at]);
      expectElements(
        [x, indices],
        (v, i) => gather(v, i, axis),
        count,
        (index) => elementAt(x, redirected(index, indices, at, shape[at])),
      );
    }
  }
});

test('scatterAdd adds and scatter replaces, in row-major order', () => {
  for (const dtype of ['float64', 'int64', 'int8', 'bool'] as const) {
    for (const [shape, count, axis] of cases) {
      const at = axis < 0 ? axis + shape.length : axis;
      const x = randomOperand(random, shape, dtype);
      const updates = randomOperand(random, count, dtype);
      const indices = randomIndices(count, shape[at]);
      const build = (combine: (old: Element, update: Element) => Element): Element[] => {
        const result = elementsOf(x);
        for (const index of indicesOf(count)) {
          const place = positionOf(redirected(index, indices, at, shape[at]), shape);
          result[place] = combine(result[place], elementAt(updates, index));
        }
        return result;
      };
      const added = build((old, update) => dtype === 'bool' ? old || update : ((old as number) + (update as number))); // prettier-ignore
      const replaced = build((_old, update) => update);
      expectElements([x, indices, updates], (v, i, u) => scatterAdd(v, i, u, axis), shape, (index) => added[positionOf(index, shape)], dtype === 'float64' ? 1e-12 : 0); // prettier-ignore
      expectElements([x, indices, updates], (v, i, u) => scatter(v, i, u, axis), shape, (index) => replaced[positionOf(index, shape)]); // prettier-ignore
    }
  }
});

test('the axis may be given as an option, and the last one is the default', () => {
  const x = floats([2, 2], [1, 2, 3, 4]);
  const [y] = evaluate([x], (v) => gather(v, [[1, 1], [0, 0]], { axis: 0 })); // prettier-ignore
  assert.deepEqual(numbersOf(y), [3, 4, 1, 2]);
  const [z] = evaluate([x], (v) => scatterAdd(v, [[0], [-1]], [[10], [20]]));
  assert.deepEqual(numbersOf(z), [11, 2, 3, 24]);
});

test('half precision adds up in single precision', () => {
  const ones = operand(
    'float16',
    [4000],
    Array.from({ length: 4000 }, () => 1),
  );
  const places = operand(
    'int32',
    [4000],
    Array.from({ length: 4000 }, () => 0),
  );
  const x = operand('float16', [1], [0]);
  const [y] = evaluate([x, places, ones], (v, i, u) => scatterAdd(v, i, u));
  assert.deepEqual(numbersOf(y), [4000]);
});

test('gradients go to what was read, what was kept, and what stayed', () => {
  const x = floats([3], [1, 2, 3]);
  const weights = floats([3], [5, 7, 11]);
  const twice = operand('int32', [3], [2, 0, 2]);
  assert.deepEqual(
    gradientsOf([x, twice], (v, i) => gather(v, i), weights),
    [[7, 0, 16], null],
  );
  const updates = floats([3], [10, 20, 30]);
  const all = [x, twice, updates];
  assert.deepEqual(
    gradientsOf(all, (v, i, u) => scatterAdd(v, i, u), weights),
    [[5, 7, 11], null, [11, 5, 11]],
  );
  // Update 0 was overwritten by update 2, and element 1 alone kept its value.
  assert.deepEqual(
    gradientsOf(all, (v, i, u) => scatter(v, i, u), weights),
    [[0, 7, 0], null, [0, 5, 11]],
  );
});

test('oneHot marks positions, and leaves rows outside empty', () => {
  const indices = operand('int64', [2, 2], [0n, 2n, -1n, 3n]);
  for (const dtype of ['float32', 'int64', 'bool'] as const) {
    const [y] = evaluate([indices], (i) => oneHot(i, 3, { dtype }));
    assert.deepEqual([y.shape, y.storage.dtype], [[2, 2, 3], dtype]);
    assert.deepEqual(numbersOf(y), [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  }
  const n = symbol('n');
  assert.equal(
    inferred([{ dtype: 'uint8', shape: [n] }], (i) => oneHot(i, n)),
    'float32[n, n]',
  );
  assert.throws(() => evaluate([floats([1], [0])], (i) => oneHot(i, 2)), DTypeError);
  assert.throws(() => evaluate([indices], (i) => oneHot(i, -1)), ShapeError);
});

test('mistakes are refused', () => {
  const x = floats([2, 2], [1, 2, 3, 4]);
  const run = (build: Parameters<typeof evaluate>[1]): unknown => evaluate([x], build);
  assert.throws(() => run((v) => gather(v, [[0, 2]], 1)), ArgumentError);
  assert.throws(() => run((v) => gather(v, [0, 1])), /rank 2/);
  assert.throws(() => run((v) => gather(v, [[0], [0], [0]], 1)), ShapeError);
  assert.throws(() => run((v) => gather(v, v)), DTypeError);
  assert.throws(() => run((v) => scatterAdd(v, [[0, 1]], [[1]], 0)), /updates of shape \[1, 2\]/);
  assert.throws(() => run((v) => scatter(v, [[0, 1]], [[1, 2]], 3)), ShapeError);
  const none = floats([0], []);
  const zero = operand('int32', [1], [0]);
  assert.throws(() => evaluate([none, zero], (v, i) => gather(v, i)), ShapeError);
});
