import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

test('an array is iterated over its first axis, and rows lack it', () => {
  const x = kn.arange(6, { dtype: 'int32' }).reshape([3, 2]);
  const rows: kn.NDArray<'int32'>[] = [...x];
  assert.deepEqual(rows.map((row) => row.tolist()), [[0, 1], [2, 3], [4, 5]]); // prettier-ignore
  assert.deepEqual(rows.map(({ dtype }) => dtype), ['int32', 'int32', 'int32']); // prettier-ignore
  const [first, second] = kn.array([5, 7]);
  assert.deepEqual([first.shape, first.item(), second.item()], [[], 5, 7]);
  // More rows than are split at once.
  let sum = 0;
  for (const row of kn.arange(100)) sum += Number(row.item());
  assert.equal(sum, (99 * 100) / 2);
  assert.deepEqual([...kn.zeros([0, 2])], []);
});

test('an array of rank 0 has no rows', () => {
  assert.throws(() => [...kn.array(3)], { code: 'KAON_SHAPE', op: 'for...of' });
});

test('gradients flow through rows, and captured code has the same ones', () => {
  const f = (x: kn.NDArray): kn.NDArray => {
    let product = kn.array(1);
    for (const row of x) product = product.mul(row.sum());
    return product;
  };
  for (const each of [f, kn.hybridize(f)]) {
    const x = kn.array([[1, 2], [3, 4]]); // prettier-ignore
    x.attachGrad();
    kn.autograd.record(() => each(x)).backward();
    // The product of the other rows' sums.
    assert.deepEqual(x.grad!.tolist(), [[7, 7], [3, 3]]); // prettier-ignore
  }
});

test('an array as the only loop variable is passed as one', () => {
  const [, x] = kn.whileLoop(
    (v: kn.NDArray) => v.sum().less(10),
    (v) => [[], v.mul(2)],
    kn.array([1, 2]),
  );
  assert.deepEqual(x.tolist(), [4, 8]);
});
