import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import { expandDims, flatten, reshape, squeeze } from '../../../src/ops/index.js';
import { evaluate, inferred } from '../../support/evaluate.js';
import { elementsOf, operand } from '../../support/programs.js';

const n = symbol('n');
const m = symbol('m');
const float = (...shape: (number | typeof n)[]) => ({ dtype: 'float32' as const, shape });

test('reshape keeps the row-major order of the elements, in every dtype', () => {
  const elements = [0, 1, 1, 0, 1, 1];
  for (const dtype of ['bool', 'int8', 'int64', 'float16', 'float64'] as const) {
    const [y] = evaluate([operand(dtype, [2, 3], elements)], (x) => reshape(x, [3, -1]));
    assert.deepEqual(y.shape, [3, 2]);
    assert.deepEqual(elementsOf(y).map(Number), elements);
    assert.equal(y.storage.dtype, dtype);
  }
});

test('reshape computes one extent, for symbolic and empty shapes too', () => {
  assert.equal(
    inferred([float(n, 4)], (x) => reshape(x, [-1, 2])),
    'float32[2*n, 2]',
  );
  assert.equal(
    inferred([float(n, m)], (x) => reshape(x, [n, -1])),
    'float32[n, m]',
  );
  assert.equal(
    inferred([float(n, m)], (x) => reshape(x, -1)),
    'float32[m*n]',
  );
  assert.equal(
    inferred([float(0, 3)], (x) => reshape(x, [-1, 3])),
    'float32[0, 3]',
  );
  assert.equal(
    inferred([float(1, 1)], (x) => reshape(x, [])),
    'float32[]',
  );
});

test('reshape refuses another number of elements where that is certain', () => {
  const refuse = (from: (number | typeof n)[], to: readonly (number | typeof n)[]): unknown =>
    inferred([float(...from)], (x) => reshape(x, to));
  assert.throws(() => refuse([2, 3], [4, 2]), (error: Error) => {
    assert.ok(error instanceof ShapeError);
    assert.match(error.message, /reshape/);
    assert.match(error.message, /6 elements, as \[2, 3\] has/);
    assert.match(error.message, /\[4, 2\]/);
    return true;
  }); // prettier-ignore
  assert.throws(() => refuse([2, 3], [4, -1]), ShapeError);
  assert.throws(() => refuse([0], [0, -1]), ShapeError);
  assert.throws(() => refuse([6], [-1, -1]), ArgumentError);
  assert.throws(() => refuse([6], [-2, -3]), ShapeError);
});

test('expandDims places axes of size 1 by the axes of the result', () => {
  assert.equal(
    inferred([float(n, 3)], (x) => expandDims(x, 0)),
    'float32[1, n, 3]',
  );
  assert.equal(
    inferred([float(n, 3)], (x) => expandDims(x, -1)),
    'float32[n, 3, 1]',
  );
  assert.equal(
    inferred([float(n, 3)], (x) => expandDims(x, [0, 2])),
    'float32[1, n, 1, 3]',
  );
  assert.equal(
    inferred([float()], (x) => expandDims(x, 0)),
    'float32[1]',
  );
  assert.throws(() => inferred([float(n, 3)], (x) => expandDims(x, 3)), ShapeError);
  assert.throws(() => inferred([float(n)], (x) => expandDims(x, [0, -3])), ArgumentError);
});

test('reshape gives the shape that is asked for where the sizes may allow it', () => {
  assert.equal(
    inferred([float(n)], (x) => reshape(x, [-1, 2])),
    'float32[floorDiv(n, 2), 2]',
  );
  assert.equal(
    inferred([float(n)], (x) => reshape(x, [m, 2])),
    'float32[m, 2]',
  );
});

test('squeeze drops axes that are 1', () => {
  assert.equal(
    inferred([float(1, n, 1, 2)], (x) => squeeze(x)),
    'float32[n, 2]',
  );
  assert.equal(
    inferred([float(1, n, 1, 2)], (x) => squeeze(x, -2)),
    'float32[1, n, 2]',
  );
  assert.equal(
    inferred([float(1, 1)], (x) => squeeze(x, [0, 1])),
    'float32[]',
  );
  assert.equal(
    inferred([float(1, n)], (x) => squeeze(x, 1)),
    'float32[1]',
  );
  const several = { dtype: 'float32' as const, shape: [symbol('k', { min: 2 })] };
  assert.throws(() => inferred([several], (x) => squeeze(x, 0)), ShapeError);
  assert.throws(() => inferred([float(1, 2)], (x) => squeeze(x, 1)), /size 1 on axis 1/);
});

test('flatten gives rank 1', () => {
  assert.equal(
    inferred([float(n, 3, m)], (x) => flatten(x)),
    'float32[3*m*n]',
  );
  assert.equal(
    inferred([float()], (x) => flatten(x)),
    'float32[1]',
  );
});
