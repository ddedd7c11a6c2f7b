import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ShapeError } from '../../../src/base/errors.js';
import { logSoftmax, logsumexp, softmax } from '../../../src/ops/index.js';
import { indicesOf, numbersOf, positionOf, randomOperand } from '../../support/arrays.js';
import { assertClose } from '../../support/close.js';
import { evaluate } from '../../support/evaluate.js';
import { operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

/** The definition, in double precision and without care for overflow. */
function naive(x: readonly number[], shape: readonly number[], axis: number): number[] {
  const at = axis < 0 ? axis + shape.length : axis;
  const powers = x.map(Math.exp);
  const totals = new Map<string, number>();
  const rowOf = (index: readonly number[]): string =>
    index.filter((_, each) => each !== at).join(',');
  const all = indicesOf(shape);
  for (const index of all) {
    const row = rowOf(index);
    totals.set(row, (totals.get(row) ?? 0) + powers[positionOf(index, shape)]);
  }
  return all.map((index) => powers[positionOf(index, shape)] / totals.get(rowOf(index))!);
}

const shapes: readonly (readonly [readonly number[], number])[] = [
  [[3, 5], -1],
  [[3, 5], 0],
  [[2, 3, 4], 1],
  [[1], 0],
  [[4, 1], -1],
  [[0, 3], -1],
  [[3, 0], -1],
  [[3, 0], 0],
];

for (const [shape, axis] of shapes) {
  test(`probabilities of [${shape}] along ${axis}, and their logarithms`, () => {
    const x = randomOperand(generator(shape.length + 5), shape);
    const expected = naive(numbersOf(x), shape, axis);
    const [probabilities, logarithms] = evaluate([x], (value) => [
      softmax(value, axis),
      logSoftmax(value, axis),
    ]);
    assert.deepEqual(probabilities.shape, shape);
    assertClose(numbersOf(probabilities), expected, 1e-12);
    assertClose(numbersOf(logarithms), expected.map(Math.log), 1e-12);
  });
}

test('large inputs neither overflow nor lose the small probabilities', () => {
  const x = operand('float32', [2, 3], [1000, 999, 0, -1000, -1001, -2000]);
  const [probabilities, logarithms] = evaluate([x], (value) => [softmax(value), logSoftmax(value)]);
  const [more, less] = [1 / (1 + Math.exp(-1)), 1 / (1 + Math.exp(1))];
  assertClose(numbersOf(probabilities), [more, less, 0, more, less, 0], 1e-6);
  const top = Math.log(more);
  assertClose(numbersOf(logarithms), [top, top - 1, top - 1000, top, top - 1, top - 1000], 1e-6);
});

test('entries of -Infinity get nothing, and rows of nothing else have no distribution', () => {
  const none = -Infinity;
  const x = operand('float64', [3, 2], [0, none, none, none, none, 7]);
  const [probabilities, logarithms] = evaluate([x], (value) => [softmax(value), logSoftmax(value)]);
  assert.deepEqual(numbersOf(probabilities), [1, 0, 0, 0, 0, 1]);
  assert.deepEqual(numbersOf(logarithms), [0, none, none, none, none, 0]);
});

test('NaN spreads over its row only, whatever is beside it, and so does Infinity', () => {
  // The maximum that is subtracted need not be NaN: the sum of powers is.
  const beside = [1, 0, -0, -Infinity, Infinity, NaN, 1e30];
  for (const dtype of ['float32', 'float64'] as const) {
    for (const width of [2, 5, 16, 35]) {
      const bad = beside.flatMap((other) => [[NaN, other], [other, NaN]]).concat([[Infinity, 1], [-Infinity, Infinity]]); // prettier-ignore
      const rows = bad.flatMap((pair) => [
        Array.from({ length: width }, (_, k) => pair[k] ?? pair[k % 2]),
        Array.from({ length: width }, (_, k) => pair[Number(k === width - 1)]),
        Array.from({ length: width }, () => 0),
      ]);
      const x = operand(dtype, [rows.length, width], rows.flat());
      const [probabilities, logarithms, sums] = evaluate([x], (value) => [
        softmax(value),
        logSoftmax(value),
        logsumexp(value, -1),
      ]).map(numbersOf);
      rows.forEach((row, i) => {
        const isGood = i % 3 === 2;
        const here = (list: readonly number[]) => list.slice(i * width, (i + 1) * width);
        assert.ok(here(probabilities).every((p) => (isGood ? p === Math.fround(1 / width) || p === 1 / width : Number.isNaN(p))), `${row}`); // prettier-ignore
        assert.ok(
          here(logarithms).every((p) => Number.isNaN(p) !== isGood),
          `${row}`,
        );
        if (row.some(Number.isNaN)) assert.ok(Number.isNaN(sums[i]), `${row}`);
        else if (!isGood) assert.equal(sums[i], Infinity);
      });
    }
  }
});

test('integers become float32, and half precision is computed in float32', () => {
  const [whole] = evaluate([operand('int32', [2], [1, 1])], (value) => softmax(value));
  assert.equal(whole.storage.dtype, 'float32');
  assert.deepEqual(numbersOf(whole), [0.5, 0.5]);
  const count = 4096; // a sum of so many ones has no place in float16's neighbors of 2048
  const zeros = operand(
    'float16',
    [count],
    Array.from({ length: count }, () => 0),
  );
  const [half] = evaluate([zeros], (value) => softmax(value));
  assert.equal(half.storage.dtype, 'float16');
  assert.ok(numbersOf(half).every((p) => p === 1 / count));
});

test('an axis that does not exist is refused', () => {
  assert.throws(
    () => evaluate([operand('float32', [2], [1, 2])], (value) => softmax(value, 1)),
    (error: unknown) => error instanceof ShapeError && error.op === 'softmax',
  );
  assert.throws(
    () => evaluate([operand('float32', [], [1])], (value) => logSoftmax(value)),
    (error: unknown) => error instanceof ShapeError && error.op === 'logSoftmax',
  );
});
