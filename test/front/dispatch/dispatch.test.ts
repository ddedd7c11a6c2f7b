import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStatic } from '../../../src/base/dim/index.js';
import { type ArrayType, arrayType } from '../../../src/front/core/array-type.js';
import { OperatorCache, planFor } from '../../../src/front/dispatch/plan.js';
import * as kn from '../../../src/index.js';
import { registry } from '../../../src/ops/registry.js';
import { near } from '../support.js';

test('equal types are one object', () => {
  assert.equal(arrayType('float32', [2, 3]), arrayType('float32', [2, 3]));
  assert.notEqual(arrayType('float32', [2, 3]).id, arrayType('float32', [3, 2]).id);
  assert.notEqual(arrayType('float32', [23]).id, arrayType('float32', [2, 3]).id);
});

test('every shape gives the right result, specialized or general', () => {
  for (let n = 0; n < 12; n++) {
    for (const m of [0, 1, 2, n]) {
      const values = (k: number): number[][] =>
        Array.from({ length: n }, (_, i) => Array.from({ length: m }, (_, j) => i * k + j));
      const [x, y] = [
        kn.array(values(3), { shape: [n, m] }),
        kn.array(values(5), { shape: [n, m] }),
      ];
      const expected = values(3).map((row, i) => row.map((value, j) => value + values(5)[i][j]));
      assert.deepEqual(kn.add(x, y).tolist(), expected);
      const column = kn.array(
        values(7).map((row) => [row[0] ?? 0]),
        { shape: [n, 1] },
      );
      assert.deepEqual(x.mul(column).shape, [n, m]);
      near(
        x.sum(0).tolist(),
        Array.from({ length: m }, (_, j) => expected.reduce((s, _r, i) => s + values(3)[i][j], 0)),
      );
      assert.deepEqual(x.matmul(y.transpose()).shape, [n, n]);
    }
  }
});

test('many shapes with attributes that hold sizes', () => {
  for (let n = 1; n < 12; n++) {
    const x = kn.arange(n).reshape([n, 1]);
    const wide = x.broadcastTo([n, 3]);
    assert.deepEqual(
      wide.sum(1).tolist(),
      Array.from({ length: n }, (_, i) => 3 * i),
    );
    assert.deepEqual(x.slice([n - 1]).tolist(), [[n - 1]]);
  }
});

test('views share the elements', () => {
  const x = kn.arange(6);
  const view = x.reshape([2, 3]);
  assert.equal(view.storage, x.storage);
  assert.notEqual(x.add(0).storage, x.storage);
});

test('text that reads like the encoding of a number is refused, even where that number is known', () => {
  kn.leakyRelu([1], { slope: -0 });
  for (const slope of ['-0', 'NaN', 1n, [], {}]) {
    assert.throws(() => kn.leakyRelu([1], { slope: slope as never }), kn.ArgumentError);
  }
});

test('results are fresh arrays', () => {
  const x = kn.array([1]);
  const [a, b] = [x.add(1), x.add(1)];
  assert.notEqual(a, b);
  assert.notEqual(a.storage, b.storage);
});

test('plain data on either side', () => {
  const x = kn.array([
    [1, 2],
    [3, 4],
  ]);
  assert.deepEqual(kn.sub(1, x).tolist(), [
    [0, -1],
    [-2, -3],
  ]);
  assert.deepEqual(kn.add([10, 20], x).tolist(), [
    [11, 22],
    [13, 24],
  ]);
  assert.deepEqual(x.add(Float64Array.of(1, 2)).dtype, 'float64');
  assert.deepEqual(kn.add(1, 2).tolist(), 3);
  assert.deepEqual(x.greater(2).tolist(), [
    [false, false],
    [true, true],
  ]);
});

test('a product of one size that is used again and again gets code for that size', () => {
  const operation = { declaration: registry.get('matmul')!, attributes: {}, regions: [] };
  const typesFor = (n: number): ArrayType[] => [
    arrayType('float64', [n, 5]),
    arrayType('float64', [5, n]),
  ];
  const isForAllSizes = (n: number): boolean => {
    const { executable } = planFor(operation, typesFor(n));
    return executable!.program.inputs.some(({ type }) => !type.shape.every(isStatic));
  };
  const sizes = [21, 22, 23, 24, 25];
  assert.deepEqual(sizes.map(isForAllSizes), [false, false, false, true, true]);
  const own = Array.from({ length: 200 }, () => isForAllSizes(25));
  assert.ok(own[0]);
  assert.ok(!own.at(-1));
  assert.ok(isForAllSizes(24));
  const [x, y] = typesFor(25).map(({ shape, dtype }) => kn.random.normal(shape, { dtype }));
  near(x.matmul(y).tolist(), x.expandDims(2).mul(y).sum(1).tolist());
});

test('code for all sizes that was evicted is made again', () => {
  const cache = new OperatorCache(4);
  const operation = { declaration: registry.get('neg')!, attributes: {}, regions: [] };
  const isForAllSizes = (shape: readonly number[]): boolean => {
    const { executable } = cache.plan(operation, [arrayType('float64', shape)]);
    return executable!.program.inputs.some(({ type }) => !type.shape.every(isStatic));
  };
  const lengths = [21, 22, 23, 24, 25].map((n) => [n]);
  assert.deepEqual(lengths.map(isForAllSizes), [false, false, false, true, true]);
  // Shapes that are equal in other places are other patterns, and as many as fit.
  const others = [[2, 3], [3, 3], [2, 1], [1, 2]]; // prettier-ignore
  assert.deepEqual(others.map(isForAllSizes), [false, false, false, false]);
  assert.ok(isForAllSizes([26]));
  assert.ok(isForAllSizes([24]));
});
