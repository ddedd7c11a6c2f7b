import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NDArray } from '../../../src/front/core/ndarray.js';
import * as operators from '../../../src/ops/index.js';
import { registry } from '../../../src/ops/registry.js';
import * as kn from '../../../src/index.js';

test('operators are exported under the names they declare', () => {
  for (const [name, exported] of Object.entries(operators)) {
    if (typeof exported !== 'function' || !('declaration' in exported)) continue;
    assert.equal((exported.declaration as { name: string }).name, name);
  }
});

test('every operator that is a method is one, and no other', () => {
  for (const { name, method } of registry.values()) {
    const own = Object.hasOwn(NDArray.prototype, name);
    assert.equal(own, method, name);
  }
});

test('methods have the types of arrays', () => {
  const x = kn.array([
    [3, 1],
    [2, 4],
  ]);
  const total: NDArray = x.sum(0, { keepdims: true });
  assert.deepEqual(total.shape, [1, 2]);
  const parts: readonly NDArray[] = x.split(2);
  assert.equal(parts.length, 2);
  const best: { readonly values: NDArray; readonly indices: NDArray } = x.topK(1);
  assert.deepEqual(best.values.tolist(), [[3], [4]]);
  const chained: NDArray = x
    .add(1)
    .mul(x)
    .matmul([
      [1, 0],
      [0, 1],
    ])
    .relu();
  assert.deepEqual(chained.shape, [2, 2]);
});

test('the types leave out operators that are no methods', () => {
  const x = kn.array([1]);
  // @ts-expect-error -- it takes a list of arrays
  assert.equal(x.concat, undefined);
  // @ts-expect-error -- it makes an array of a shape
  assert.equal(x.fill, undefined);
});
