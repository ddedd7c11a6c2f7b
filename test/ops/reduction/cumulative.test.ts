import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DType } from '../../../src/base/dtype.js';
import type { Element } from '../../../src/base/element.js';
import { ShapeError } from '../../../src/base/errors.js';
import { cumprod, cumsum, recurrence } from '../../../src/ops/index.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { indicesOf, randomOperand } from '../../support/arrays.js';
import {
  elementAt,
  evaluate,
  expectElements,
  gradientsOf,
  inferred,
} from '../../support/evaluate.js';
import { elementsOf, floats, operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(12);

const folds = [
  { name: 'cumsum', run: cumsum, neutral: 0, combine: (a: Element, b: Element) => (a as number) + (b as number) }, // prettier-ignore
  { name: 'cumprod', run: cumprod, neutral: 1, combine: (a: Element, b: Element) => (a as number) * (b as number) }, // prettier-ignore
] as const;

for (const { name, run, neutral, combine } of folds) {
  test(`${name} folds what lies before, or behind, each element`, () => {
    for (const dtype of ['float64', 'float32', 'int32', 'int64', 'bool'] as DType[]) {
      for (const shape of dtype === 'float32'
        ? [
            [5, 1],
            [0, 3],
            [2, 3, 5],
          ]
        : [[4, 3]]) {
        const x = randomOperand(random, shape, dtype);
        const isWhole = !dtype.startsWith('float');
        for (let axis = 0; axis < shape.length; axis++) {
          for (const exclusive of [false, true]) {
            for (const reverse of [false, true]) {
              expectElements(
                [x],
                (v) => run(v, axis, { exclusive, reverse }),
                shape,
                (index) => {
                  const at = index[axis];
                  let places = Array.from({ length: shape[axis] }, (_, k) => k).filter((k) => reverse ? k >= at : k <= at); // prettier-ignore
                  if (exclusive) places = places.filter((k) => k !== at);
                  const start: Element = isWhole ? BigInt(neutral) : neutral;
                  return places
                    .map((k) => elementAt(x, index.with(axis, k)))
                    .map((value) => (isWhole ? BigInt(value as number) : value))
                    .reduce(combine, start);
                },
                dtype === 'float32' ? 1e-5 : dtype === 'float64' ? 1e-12 : 0,
              );
            }
          }
        }
      }
    }
  });
}

test('without an axis the array is flattened', () => {
  const x = randomOperand(random, [2, 3], 'int32');
  const flat = indicesOf([2, 3]).map((index) => BigInt(elementAt(x, index) as number));
  expectElements(
    [x],
    (v) => cumsum(v),
    [6],
    ([k]) => flat.slice(0, k + 1).reduce((a, b) => a + b),
  );
  assert.deepEqual(
    gradientsOf([floats([2, 2], [1, 2, 3, 4])], (v) => cumsum(v)),
    [[4, 3, 2, 1]],
  );
});

test('int64 is exact, and the axis is checked', () => {
  const x = operand('int64', [2], [2n ** 60n, 1n]);
  assert.deepEqual(elementsOf(evaluate([x], (v) => cumsum(v, 0))[0]), [2n ** 60n, 2n ** 60n + 1n]);
  assert.equal(
    inferred([{ dtype: 'bool', shape: [3] }], (v) => cumsum(v, 0)),
    'int64[3]',
  );
  assert.throws(() => evaluate([x], (v) => cumprod(v, 1)), ShapeError);
});

test('running products have a gradient at zeros', () => {
  // d/dx_i of the sum of all prefixes: the sum over prefixes that hold i of the product of the others.
  const list = [2, 0, 3, 0, 5];
  const expected = list.map((_, i) =>
    list
      .map((_, end) => list.slice(0, end + 1))
      .filter((prefix) => prefix.length > i)
      .map((prefix) => prefix.filter((_, k) => k !== i).reduce((a, b) => a * b, 1))
      .reduce((a, b) => a + b, 0),
  );
  assert.deepEqual(
    gradientsOf([floats([5], list)], (v) => cumprod(v, 0)),
    [expected],
  );
});

test('what no running product and no recurrence reads has a gradient of 0, also beside infinities', () => {
  const list = [2, 3, Infinity];
  assert.deepEqual(
    gradientsOf([floats([3], list)], (v) => cumprod(v, 0, { exclusive: true })),
    [[4, 2, 0]],
  );
  assert.deepEqual(
    gradientsOf([floats([3], list.toReversed())], (v) =>
      cumprod(v, 0, { exclusive: true, reverse: true }),
    ),
    [[0, 2, 4]],
  );
  const terms = floats([3], [1, Infinity, 1]);
  assert.deepEqual(
    gradientsOf([floats([3], [NaN, 2, 0.5]), terms], (a, b) => recurrence(a, b)),
    [[0, 1.5, Infinity], [4, 1.5, 1]],
  );
}); // prettier-ignore

test('a recurrence of truth values multiplies by and, adds by or', () => {
  const [a, b] = [
    [1, 1, 0, 1],
    [0, 1, 0, 0],
  ].map((list) => operand('bool', [4], list.map(Boolean)));
  const [y] = evaluate([a, b], (factors, terms) => recurrence(factors, terms));
  assert.deepEqual(elementsOf(y).map(Boolean), [false, true, false, false]);
});

test('a recurrence is a loop', () => {
  for (const shape of [[5], [4, 3], [0, 2], [1, 1]]) {
    const [a, b] = [randomOperand(random, shape), randomOperand(random, shape)];
    for (let axis = 0; axis < shape.length; axis++) {
      for (const reverse of [false, true]) {
        const value = (index: readonly number[]): number => {
          const at = index[axis];
          const isFirst = reverse ? at === shape[axis] - 1 : at === 0;
          const term = Number(elementAt(b, index));
          if (isFirst) return term;
          return term + Number(elementAt(a, index)) * value(index.with(axis, reverse ? at + 1 : at - 1)); // prettier-ignore
        };
        expectElements([a, b], (x, y) => recurrence(x, y, axis, { reverse }), shape, value, 1e-12);
      }
    }
  }
  const [y] = evaluate([floats([2], [Infinity, 2]), floats([2], [1, 1])], (a, b) => recurrence(a, b)); // prettier-ignore
  assert.deepEqual(elementsOf(y), [1, 3]);
  assert.throws(() => evaluate([floats([2], [1, 2])], (a) => recurrence(a, [1])), ShapeError);
});

/** One row or several, and few columns or more than a vector has lanes. */
const longShapes: readonly { readonly shape: readonly number[]; readonly axis: number }[] = [
  { shape: [400_003], axis: 0 },
  { shape: [2, 300_001], axis: 1 },
  { shape: [200_003, 3], axis: 0 },
  { shape: [2, 50_002, 7], axis: 1 },
];

/** Eight additions in a block, one where it meets the total, one where that is read (decision 45). */
const mostRoundings = 10;

for (const { shape, axis } of longShapes) {
  test(`running sums keep their digits: ${shape.join(' x ')} along ${axis}`, () => {
    const length = shape.reduce((product, extent) => product * extent, 1);
    const behind = shape.slice(axis + 1).reduce((product, extent) => product * extent, 1);
    for (const term of [0.1, 1 / 3, 1000]) {
      const elements = new Float32Array(length).fill(term);
      const x: Operand = { storage: new Storage('float32', elements), shape };
      for (const exclusive of [false, true]) {
        for (const reverse of [false, true]) {
          const options = { exclusive, reverse };
          const [sums] = evaluate([x], (v) => ({ y: cumsum(v, axis, options) }));
          const found = sums.storage.host as Float32Array;
          let worst = 0;
          for (let i = 0; i < length; i++) {
            const at = Math.floor(i / behind) % shape[axis];
            const before = reverse ? shape[axis] - 1 - at : at;
            // Double precision rounds products of these no more than once.
            const exact = (exclusive ? before : before + 1) * Math.fround(term);
            const error = Math.abs(found[i] - exact) / Math.max(exact, Number.MIN_VALUE);
            worst = Math.max(worst, exact === 0 ? Math.abs(found[i]) : error);
          }
          assert.ok(worst <= mostRoundings * 2 ** -24, `${term}: ${worst / 2 ** -24} roundings`);
        }
      }
    }
  });
}

test('running sums pass through infinities, and past the greatest float', () => {
  for (const shape of [[40], [40, 1, 2]]) {
    const stride = shape.length === 1 ? 1 : 2;
    const length = 40 * stride;
    const run = (element: (at: number) => number): number[] => {
      const x = floats(shape, Array.from({ length }, (_, i) => element(Math.floor(i / stride)))); // prettier-ignore
      const [sums] = evaluate([x], (v) => ({ y: cumsum(v, 0) }));
      return elementsOf(sums).filter((_, i) => i % stride === 0).map(Number); // prettier-ignore
    };
    const count = (values: readonly number[], wanted: number): number =>
      values.filter((value) => Object.is(value, wanted)).length;
    assert.equal(
      count(
        run((at) => (at === 17 ? Infinity : 1)),
        Infinity,
      ),
      23,
    );
    assert.equal(
      count(
        run((at) => (at === 3 ? Infinity : at === 21 ? -Infinity : 1)),
        NaN,
      ),
      19,
    );
    assert.equal(
      count(
        run(() => 1e38),
        Infinity,
      ),
      37,
    );
    assert.equal(
      count(
        run((at) => (at < 5 ? NaN : 1)),
        NaN,
      ),
      40,
    );
    assert.equal(
      count(
        run(() => -0),
        0,
      ),
      40,
    );
  }
});
