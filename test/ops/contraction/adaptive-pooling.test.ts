import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Program, type Value } from '../../../src/ir/program.js';
import {
  adaptiveAvgPool, adaptiveAvgPool2d, adaptiveMaxPool, adaptiveMaxPool1d, avgPool, maxPool,
} from '../../../src/ops/index.js'; // prettier-ignore
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { indicesOf, numbersOf, positionOf, randomOperand } from '../../support/arrays.js';
import { assertClose } from '../../support/close.js';
import { evaluate, gradientsOf } from '../../support/evaluate.js';
import { operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

/** Positions in `x` of the elements of each bin, in row-major order, by PyTorch's formula. */
function binsOf(x: Operand, size: readonly number[]): number[][] {
  const extents = x.shape.slice(2);
  return indicesOf([...x.shape.slice(0, 2), ...size]).map(([image, channel, ...q]) => {
    const [begin, end] = [0, 1].map((side) =>
      q.map((bin, axis) => {
        const share = ((bin + side) * extents[axis]) / size[axis];
        return side === 0 ? Math.floor(share) : Math.ceil(share);
      }),
    );
    const counts = end.map((stop, axis) => stop - begin[axis]);
    return indicesOf(counts).map((r) =>
      positionOf([image, channel, ...r.map((at, axis) => at + begin[axis])], x.shape),
    );
  });
}

const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);

/** Sizes that divide, that are divided, that share factors, and that share none. */
const sizes: readonly (readonly [readonly number[], readonly number[]])[] = [
  [[7], [3]], [[3], [7]], [[6], [2]], [[2], [6]], [[10], [4]], [[4], [10]], [[1], [3]], [[5], [1]], [[9], [8]],
  [[5, 6], [3, 2]], [[4, 7], [1, 5]], [[3, 5], [5, 5]], [[8, 6], [4, 9]],
  [[3, 4, 5], [2, 3, 4]], [[2, 6, 3], [4, 3, 1]],
]; // prettier-ignore

for (const [extents, size] of sizes) {
  test(`bins ${size.join(' x ')} over ${extents.join(' x ')} have the elements that the formula gives`, () => {
    const random = generator(sum(extents) + sum(size));
    const x = randomOperand(random, [2, 3, ...extents]);
    const head = randomOperand(random, [2, 3, ...size]);
    const bins = binsOf(x, size);
    const [data, weights] = [numbersOf(x), numbersOf(head)];
    const [means, maxima] = evaluate([x], (value) => [
      adaptiveAvgPool(value, size),
      adaptiveMaxPool(value, size),
    ]);
    assert.deepEqual(means.shape, head.shape);
    assertClose(
      numbersOf(means),
      bins.map((bin) => sum(bin.map((at) => data[at])) / bin.length),
      1e-12,
    );
    assert.deepEqual(maxima.shape, head.shape);
    assert.deepEqual(
      numbersOf(maxima),
      bins.map((bin) => Math.max(...bin.map((at) => data[at]))),
    );
    const ofMeans = data.map(() => 0);
    const ofMaxima = data.map(() => 0);
    bins.forEach((bin, q) => {
      for (const at of bin) ofMeans[at] += weights[q] / bin.length;
      const best = bin.reduce((a, b) => (data[b] > data[a] ? b : a));
      ofMaxima[best] += weights[q];
    });
    const slope = (pool: (value: Value) => Value): number[] => gradientsOf([x], pool, head)[0]!;
    assertClose(
      slope((value) => adaptiveAvgPool(value, size)),
      ofMeans,
      1e-12,
    );
    assertClose(
      slope((value) => adaptiveMaxPool(value, size)),
      ofMaxima,
      1e-12,
    );
  });
}

test('bins of equal sizes are the windows of the other pools', () => {
  const x = randomOperand(generator(1), [2, 2, 6, 8]);
  const [a, b, c, d] = evaluate([x], (value) => [
    adaptiveAvgPool(value, [3, 2]),
    avgPool(value, [2, 4]),
    adaptiveMaxPool(value, [3, 2]),
    maxPool(value, [2, 4]),
  ]);
  assertClose(numbersOf(a), numbersOf(b), 1e-15);
  assert.deepEqual(numbersOf(c), numbersOf(d));
});

test('null leaves an axis as it is', () => {
  const x = randomOperand(generator(2), [1, 2, 4, 3]);
  const [same, rows, wanted] = evaluate([x], (value) => [
    adaptiveMaxPool(value, null),
    adaptiveAvgPool2d(value, [2, null]),
    adaptiveAvgPool2d(value, [2, 3]),
  ]);
  assert.deepEqual(numbersOf(same), numbersOf(x));
  assert.deepEqual(rows.shape, [1, 2, 2, 3]);
  assert.deepEqual(numbersOf(rows), numbersOf(wanted));
});

test('the gradient of a maximum goes to the first of equals, also where all are lowest', () => {
  const ofFirst = (data: readonly number[], size: number): number[] => {
    const x = operand('float64', [1, 1, data.length], data);
    const head = operand('float64', [1, 1, size], [3, 5].slice(0, size));
    return gradientsOf([x], (value) => adaptiveMaxPool1d(value, size), head)[0]!;
  };
  assert.deepEqual(ofFirst([2, 7, 7], 2), [0, 3 + 5, 0]);
  assert.deepEqual(ofFirst([1, 1, 1], 2), [3, 5, 0]);
  assert.deepEqual(ofFirst([-Infinity, -Infinity, -Infinity], 2), [3, 5, 0]);
  assert.deepEqual(ofFirst([1, NaN, 2], 1), [0, 3, 0]);
});

test('integers keep their dtype in maxima, and become float32 in means', () => {
  const x = operand('int8', [1, 1, 3], [-128, -128, -5]);
  const [most, mean] = evaluate([x], (value) => [
    adaptiveMaxPool1d(value, 2),
    adaptiveAvgPool(value, 2),
  ]);
  assert.equal(most.storage.dtype, 'int8');
  assert.deepEqual(numbersOf(most), [-128, -5]);
  assert.equal(mean.storage.dtype, 'float32');
  assert.deepEqual(numbersOf(mean), [-128, -66.5]);
});

test('half precision is averaged in float32', () => {
  const x = operand('float16', [1, 1, 5], [60000, 60000, 60000, 2, 4]);
  const [mean] = evaluate([x], (value) => adaptiveAvgPool(value, 2));
  assert.equal(mean.storage.dtype, 'float16');
  assertClose(numbersOf(mean), [60000, 20002], 1e-3);
});

test('no batch and no channels give no bins', () => {
  const x = operand('float64', [0, 2, 3], []);
  const [mean] = evaluate([x], (value) => adaptiveAvgPool(value, 2));
  assert.deepEqual(mean.shape, [0, 2, 2]);
});

test('adaptive pools refuse what they cannot divide', () => {
  const refuse = (shape: readonly number[], build: (value: Value) => Value, expected: object): void =>
    assert.throws(() => evaluate([operand('float64', shape, Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => 1))], build), expected); // prettier-ignore
  refuse([1, 1, 3], (value) => adaptiveAvgPool2d(value, 2), { name: 'ShapeError', op: 'adaptiveAvgPool2d' }); // prettier-ignore
  refuse([1, 3], (value) => adaptiveMaxPool(value, 2), { name: 'ShapeError', op: 'adaptiveMaxPool', expected: /rank 3/ }); // prettier-ignore
  refuse([1, 1, 0], (value) => adaptiveMaxPool(value, 2), { name: 'ShapeError', op: 'adaptiveMaxPool', expected: /at least 1 element/, actual: /^2 bins over 0 elements/ }); // prettier-ignore
  for (const size of [0, -1, 1.5, [2, 2], ['2'], []]) {
    refuse([1, 1, 3], (value) => adaptiveAvgPool(value, size as number), { name: 'ArgumentError', op: 'adaptiveAvgPool', expected: /at least 1, null/ }); // prettier-ignore
  }
});

test('so many bins over so many elements that positions would overflow are refused, unless they are equal', () => {
  const x = new Program().variable('x', { dtype: 'float32', shape: [1, 1, 100_000] });
  assert.deepEqual(adaptiveAvgPool(x, 50_000).type.shape, [1, 1, 50_000]);
  assert.deepEqual(adaptiveAvgPool(x, 20_001).type.shape, [1, 1, 20_001]);
  assert.throws(() => adaptiveAvgPool(x, 50_001), {
    name: 'ShapeError',
    op: 'adaptiveAvgPool',
    expected: /below 2\^31/,
  });
});
