import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, mulDim, symbol } from '../../../src/base/dim/index.js';
import { ShapeError } from '../../../src/base/errors.js';
import { inferOutputTypes } from '../../../src/front/graphs/retype.js';
import type { Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { add, matmul, reshape } from '../../../src/ops/index.js';
import { programOf } from '../../support/programs.js';

const f32 = (...shape: readonly Dim[]): TensorType => ({ dtype: 'float32', shape });
const [n, k, m] = [symbol('n'), symbol('k'), symbol('m')];

/** Sums with a constant, a product whose inner extents a check compares, and a view of as many elements. */
const program = programOf({ x: f32(n, 3), w: f32(k, 2) }, ({ x, w }, into) => {
  const ones = into.constant({
    type: { dtype: 'float32', shape: [3] },
    data: Float32Array.of(1, 1, 1),
  });
  const sum = add<Value>(x, ones);
  return { flat: reshape<Value>(sum, [mulDim(n, 3)]), product: matmul<Value>(sum, w), w };
});

const outputs = (types: Readonly<Record<string, TensorType>>): readonly string[] =>
  inferOutputTypes(program, new Map(Object.entries(types))).map(({ dtype, shape }) => `${dtype}[${shape.join(', ')}]`); // prettier-ignore

test('outputs follow the types of the inputs, in their sizes, names and dtypes', () => {
  const kept = { w: f32(3, 2) };
  assert.deepEqual(outputs({ ...kept, x: f32(5, 3) }), ['float32[15]', 'float32[5, 2]', 'float32[3, 2]']);
  assert.deepEqual(outputs({ ...kept, x: f32(0, 3) }), ['float32[0]', 'float32[0, 2]', 'float32[3, 2]']);
  assert.deepEqual(outputs({ ...kept, x: f32(m, 3) }), ['float32[3*m]', 'float32[m, 2]', 'float32[3, 2]']);
  assert.deepEqual(outputs(kept), ['float32[3*n]', 'float32[n, 2]', 'float32[3, 2]']);
  assert.deepEqual(
    outputs({ x: { dtype: 'float64', shape: [1, 3] }, w: { dtype: 'float64', shape: [3, 7] } }),
    ['float64[3]', 'float64[1, 7]', 'float64[3, 7]'],
  );
}); // prettier-ignore

test('types that do not fit each other are refused', () => {
  assert.throws(() => outputs({ x: f32(5, 4) }), ShapeError);
  assert.throws(() => outputs({ w: f32(4, 2) }), ShapeError);
});
