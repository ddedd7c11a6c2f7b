import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DType, dtypes, kindOf, promote } from '../../../src/base/dtype.js';
import { fromFloat16Bits, toFloat16Bits } from '../../../src/base/element.js';
import { ArgumentError } from '../../../src/base/errors.js';
import { Program, type Value } from '../../../src/ir/program.js';
import * as ops from '../../../src/ops/elementwise/index.js';
import { apply, elements, vector } from './support.js';

const cast = (from: DType, to: DType, values: readonly (number | bigint | boolean)[]) =>
  elements(apply((x) => ops.cast(x, to), vector(from, values)));

test('floats become integers by truncation, the nearest end of the range, and 0 for NaN', () => {
  const xs = [1.9, -1.9, 300, -300, 1e30, -1e30, NaN, Infinity];
  for (const from of ['float32', 'float64'] as const) {
    assert.deepEqual(cast(from, 'int8', xs), [1, -1, 127, -128, 127, -128, 0, 127]);
    assert.deepEqual(cast(from, 'uint8', xs), [1, 0, 255, 0, 255, 0, 0, 255]);
    const [top, low] = [2 ** 31 - 1, -(2 ** 31)];
    assert.deepEqual(cast(from, 'int32', xs), [1, -1, 300, -300, top, low, 0, top]);
    const [most, least] = [2n ** 63n - 1n, -(2n ** 63n)];
    assert.deepEqual(cast(from, 'int64', xs), [1n, -1n, 300n, -300n, most, least, 0n, most]);
  }
});

test('integers keep their low bits, and int64 is exact', () => {
  assert.deepEqual(cast('int32', 'uint8', [-1, 256, 300]), [255, 0, 44]);
  assert.deepEqual(cast('int64', 'int8', [2n ** 40n + 200n, -129n]), [-56, 127]);
  assert.deepEqual(cast('int64', 'int32', [2n ** 40n + 5n, -1n]), [5, -1]);
  assert.deepEqual(cast('uint8', 'int8', [200]), [-56]);
  assert.deepEqual(cast('int32', 'int64', [-(2 ** 31)]), [-(2n ** 31n)]);
  assert.deepEqual(cast('int64', 'float64', [2n ** 53n + 2n, -7n]), [2 ** 53 + 2, -7]);
  assert.deepEqual(cast('int64', 'float32', [2n ** 24n + 1n]), [2 ** 24]);
});

test('bool is what is not zero, and 0 or 1 again', () => {
  assert.deepEqual(cast('float32', 'bool', [0, -0, 0.1, NaN]), [false, false, true, true]);
  assert.deepEqual(cast('int64', 'bool', [0n, 2n ** 40n]), [false, true]);
  for (const to of ['uint8', 'int32', 'float16', 'float64'] as const) {
    assert.deepEqual(cast('bool', to, [false, true]), [0, 1]);
  }
});

test('narrow floats round to nearest, also between fused operators', () => {
  const xs = [1 + 2 ** -11, 1 + 3 * 2 ** -11, 65519, 65520, 2 ** -25, 1e-8];
  const rounded = xs.map((x) => fromFloat16Bits(toFloat16Bits(x)));
  assert.deepEqual(cast('float32', 'float16', xs), rounded);
  const back = apply((x) => ops.cast(ops.cast(x, 'float16'), 'float32'), vector('float32', xs));
  assert.deepEqual(elements(back), rounded);
  assert.deepEqual(cast('float64', 'float32', [0.1, 1e300]), [Math.fround(0.1), Infinity]);
});

test('operands promote by the lattice, comparisons give bool, division a float', () => {
  const program = new Program();
  const of = (dtype: DType): Value =>
    program.variable(`v${program.inputs.length}`, { dtype, shape: [2] });
  for (const a of dtypes) {
    for (const b of dtypes) {
      const common = promote(a, b);
      const fractional = kindOf(common) === 'float' ? common : 'float32';
      const [x, y] = [of(a), of(b)];
      assert.equal(ops.add(x, y).type.dtype, common);
      assert.equal(ops.maximum(x, y).type.dtype, common);
      assert.equal(ops.where(of('float32'), x, y).type.dtype, common);
      assert.equal(ops.div(x, y).type.dtype, fractional);
      assert.equal(ops.atan2(x, y).type.dtype, fractional);
      assert.equal(ops.less(x, y).type.dtype, 'bool');
      assert.equal(ops.logicalAnd(x, y).type.dtype, 'bool');
    }
  }
});

test('plain numbers do not widen arrays of their kind', () => {
  const program = new Program();
  const of = (dtype: DType): Value =>
    program.variable(`v${program.inputs.length}`, { dtype, shape: [2] });
  assert.equal(ops.add(of('float16'), 0.5).type.dtype, 'float16');
  assert.equal(ops.mul(of('int8'), 2).type.dtype, 'int8');
  assert.equal(ops.mul(of('int8'), 0.5).type.dtype, 'float32');
  assert.equal(ops.pow(of('int8'), 2).type.dtype, 'int8');
  assert.equal(ops.pow(of('int8'), 0.5).type.dtype, 'float32');
  assert.equal(ops.pow(of('float64'), 0.5).type.dtype, 'float64');
  assert.equal(ops.clip(of('int32'), 0, 5).type.dtype, 'int32');
  assert.equal(ops.sqrt(of('int64')).type.dtype, 'float32');
  assert.equal(ops.exp(of('bfloat16')).type.dtype, 'bfloat16');
});

test('what is not a dtype is refused', () => {
  const x = new Program().variable('x', { dtype: 'float32', shape: [2] });
  assert.throws(() => ops.cast(x, 'float' as DType), ArgumentError);
  assert.throws(() => ops.polygamma(0, x), ArgumentError);
});
