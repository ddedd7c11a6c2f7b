import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import { dot, outer, tensordot } from '../../../src/ops/index.js';
import { numbersOf } from '../../support/arrays.js';
import { evaluate } from '../../support/evaluate.js';
import { operand } from '../../support/programs.js';

const counting = (shape: readonly number[]): ReturnType<typeof operand> =>
  operand(
    'float64',
    shape,
    Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => i),
  );

test('dot is an inner product, a matrix product, or a multiple', () => {
  const [vector, matrix, scalar] = [counting([3]), counting([2, 3]), counting([])];
  const [inner, product, multiple] = evaluate([vector, matrix, scalar], (v, m, s) => [
    dot(v, v),
    dot(m, v),
    dot(m, s),
  ]);
  assert.deepEqual([inner.shape, numbersOf(inner)], [[], [5]]);
  assert.deepEqual([product.shape, numbersOf(product)], [[2], [5, 14]]);
  assert.deepEqual(
    [multiple.shape, numbersOf(multiple)],
    [
      [2, 3],
      [0, 0, 0, 0, 0, 0],
    ],
  );
  const [high] = evaluate([counting([2, 2, 3]), counting([2, 3, 4])], (x, y) => dot(x, y));
  assert.deepEqual(high.shape, [2, 2, 2, 4]);
  assert.equal(numbersOf(high)[0], 4 + 2 * 8);
});

test('an outer product has every pair', () => {
  const [result] = evaluate([counting([3]), counting([2, 2])], (x, y) => outer(x, y));
  assert.deepEqual(result.shape, [3, 4]);
  assert.deepEqual(numbersOf(result), [0, 0, 0, 0, 0, 1, 2, 3, 0, 2, 4, 6]);
});

test('tensordot sums over the axes that it is told', () => {
  const [x, y] = [counting([2, 3]), counting([3, 2])];
  const run = (axes: Parameters<typeof tensordot>[2]): [readonly number[], number[]] => {
    const [result] = evaluate([x, y], (a, b) => tensordot(a, b, axes));
    return [result.shape, numbersOf(result)];
  };
  assert.deepEqual(run(1), [[2, 2], [10, 13, 28, 40]]); // prettier-ignore
  assert.deepEqual(run([[0, 1], [1, 0]]), [[], [0 + 2 + 8 + 3 + 12 + 25]]); // prettier-ignore
  assert.deepEqual(run([[0], [-1]])[0], [3, 3]); // prettier-ignore
  assert.deepEqual(run(0)[0], [2, 3, 3, 2]);
  assert.throws(() => run(3), ArgumentError);
  assert.throws(() => run([[0, 1], [0]]), ArgumentError); // prettier-ignore
  assert.throws(() => run([[2], [0]]), ShapeError); // prettier-ignore
  assert.throws(() => run(2), { name: 'ShapeError', op: 'tensordot' });
});

test('axes that are summed over have equal sizes, 1 too', () => {
  for (const [x, y] of [
    [[1], [3]],
    [[2, 3], [1]],
    [
      [2, 1],
      [4, 3, 2],
    ],
  ]) {
    const run = (sum: typeof dot) => (): unknown => evaluate([counting(x), counting(y)], (a, b) => sum(a, b)); // prettier-ignore
    assert.throws(run(dot), { name: 'ShapeError', op: 'dot' });
    const pair = [[x.length - 1], [Math.max(y.length - 2, 0)]] as const;
    assert.throws(run((a, b) => tensordot(a, b, pair)), { name: 'ShapeError', op: 'tensordot' }); // prettier-ignore
  }
});
