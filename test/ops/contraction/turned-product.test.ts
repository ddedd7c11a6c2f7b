import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { matmul, turnedProduct } from '../../../src/ops/index.js';
import { near } from '../../front/support.js';

const sides = [
  { left: false, right: true },
  { left: true, right: false },
  { left: true, right: true },
] as const;

const shapes: readonly (readonly [readonly number[], readonly number[]])[] = [
  [[3, 4], [4, 5]],
  [[2, 3, 4], [4, 5]],
  [[2, 1, 3, 4], [6, 4, 5]],
  [[3, 4], [2, 4, 5]],
  [[2, 3, 4], [1, 4, 5]],
  [[1, 1], [1, 7]],
  [[3, 0], [0, 5]],
]; // prettier-ignore

const turn = (x: kn.NDArray): kn.NDArray => x.swapaxes(-1, -2);

for (const { left, right } of sides) {
  test(`the product and its derivatives are those of the exchanged operands: ${left}, ${right}`, () => {
    kn.random.seed(5);
    for (const [a, b] of shapes) {
      const x = kn.random.normal(a).astype('float64');
      const y = kn.random.normal(b).astype('float64');
      const given = [left ? turn(x) : x, right ? turn(y) : y];
      const results = [
        () => turnedProduct(given[0], given[1], { left, right }),
        () => matmul(left ? turn(given[0]) : given[0], right ? turn(given[1]) : given[1]),
      ].map((product) => {
        const value = autograd.record(() => product().mul(2).sin());
        const first = autograd.grad(value, given, { createGraph: true });
        const loss = autograd.record(() => first[0].square().sum().add(first[1].cos().sum()));
        return [value, ...first, ...autograd.grad(loss, given)];
      });
      results[0].forEach((array, k) => {
        assert.deepEqual(array.shape, results[1][k].shape);
        near(array.tolist(), results[1][k].tolist(), 1e-12);
      });
    }
  });
}

const { autograd } = kn;

test('a vector is a row on a left side and a column on a right side that is not exchanged', () => {
  const [w, v] = [kn.array([[1, 2, 3], [4, 5, 6]]), kn.array([1, 10, 100])]; // prettier-ignore
  const value = autograd.record(() => turnedProduct(v, w, { left: false, right: true }));
  assert.deepEqual(value.tolist(), [321, 654]);
  const [gv, gw] = autograd.grad(value, [v, w]);
  assert.deepEqual([gv.tolist(), gw.tolist()], [[5, 7, 9], [[1, 10, 100], [1, 10, 100]]]); // prettier-ignore
});

test('captured code and programs hold a product and a transposition', () => {
  const x = kn.ones([2, 3]);
  const { y } = kn.autograd.pause(() => kn.deferredCompute(() => ({ y: turnedProduct(x, x, { left: false, right: true }) }))); // prettier-ignore
  const text = kn.exportGraph({ inputs: { x }, outputs: { y } }).toString();
  assert.match(text, /swapaxes[\s\S]*matmul/);
  assert.doesNotMatch(text, /turnedProduct\(/);
  assert.deepEqual(y.tolist(), [[3, 3], [3, 3]]); // prettier-ignore
});

test('a layer makes no exchanged weight, forward or backward', () => {
  const layer = new kn.nn.Dense(5, { inputs: 4 }).initialize();
  const x = kn.random.normal([3, 4]);
  const value = autograd.record(() => layer.call(x));
  const names: string[] = [];
  for (let next = [value]; next.length > 0;) {
    const array = next.pop()!;
    if (array.origin === null) continue;
    names.push(array.origin.declaration.name);
    next.push(...array.origin.operands);
  }
  assert.deepEqual(names, ['add', 'turnedProduct']);
});

test('operands that do not fit are refused as those of a product', () => {
  const [x, y] = [kn.ones([2, 3]), kn.ones([3, 4])];
  assert.throws(() => turnedProduct(x, y, { left: false, right: true }), /inner extents differ/);
});
