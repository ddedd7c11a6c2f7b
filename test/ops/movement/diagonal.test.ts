import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import { diagonal, diagonalAdjoint } from '../../../src/ops/index.js';
import { indicesOf, numbersOf, randomOperand } from '../../support/arrays.js';
import {
  elementAt,
  evaluate,
  expectElements,
  gradientsOf,
  inferred,
} from '../../support/evaluate.js';
import { floats } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(7);
const shapes = [[3, 4], [4, 3], [1, 1], [0, 2], [2, 0]]; // prettier-ignore

test('diagonal takes the elements whose indices differ by the offset', () => {
  for (const shape of shapes) {
    const x = randomOperand(random, shape, 'int32');
    for (const offset of [-3, -1, 0, 1, 5]) {
      const found = indicesOf(shape).filter(([i, j]) => j - i === offset);
      expectElements([x], (v) => diagonal(v, offset), [found.length], ([k]) => elementAt(x, found[k])); // prettier-ignore
    }
  }
  const cube = randomOperand(random, [2, 3, 4]);
  expectElements(
    [cube],
    (v) => diagonal(v),
    [4, 2],
    ([c, k]) => elementAt(cube, [k, k, c]),
  );
  expectElements([cube], (v) => diagonal(v, 1, -1, 0), [3, 1], ([b, k]) => elementAt(cube, [k + 1, b, k])); // prettier-ignore
});

test('its adjoint writes a diagonal into zeros', () => {
  const g = floats([2], [5, 7]);
  const place = (shape: readonly number[], offset: number): number[] =>
    numbersOf(evaluate([g], (v) => diagonalAdjoint(v, shape, offset, 0, 1))[0]);
  assert.deepEqual(place([2, 3], 0), [5, 0, 0, 0, 7, 0]);
  assert.deepEqual(place([2, 3], 1), [0, 5, 0, 0, 0, 7]);
  assert.deepEqual(place([3, 2], -1), [0, 0, 5, 0, 0, 7]);
  const x = floats([2, 2], [1, 2, 3, 4]);
  assert.deepEqual(
    gradientsOf([x], (v) => diagonal(v), g),
    [[5, 0, 0, 7]],
  );
});

test('the length of a diagonal is symbolic, and mistakes are refused', () => {
  const type = { dtype: 'float32' as const, shape: [symbol('n'), symbol('n')] };
  assert.equal(
    inferred([type], (v) => diagonal(v)),
    'float32[n]',
  );
  const x = floats([2, 2], [1, 2, 3, 4]);
  assert.throws(() => evaluate([x], (v) => diagonal(v, 0, 1, -1)), ArgumentError);
  assert.throws(() => evaluate([x], (v) => diagonal(v, 0, 0, 2)), ShapeError);
  assert.throws(() => evaluate([x], (v) => diagonalAdjoint(v, [2, 2], 0, 0, 1)), ShapeError);
});
