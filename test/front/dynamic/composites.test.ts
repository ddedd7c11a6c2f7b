import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near, refuses } from '../support.js';

// Operators that are written in others, on sizes that only the data decides.

const bool = (bits: readonly number[]): kn.NDArray => kn.array(bits, { dtype: 'bool' });
const masks = [
  [1, 0, 1, 1],
  [0, 1, 0, 0],
  [0, 0, 0, 0],
].map(bool);
const x = kn.array([0.5, -1, 2, 4]);

type OfSelected = (selected: kn.NDArray) => kn.NDArray;

const alongSelected: Readonly<Record<string, OfSelected>> = {
  softmax: (selected) => kn.softmax(selected),
  logSoftmax: (selected) => kn.logSoftmax(selected),
  'softmax of rows': (selected) => kn.softmax(kn.stack([selected, selected.mul(2)]), 1),
};

for (const [name, f] of Object.entries(alongSelected)) {
  test(`${name} of what a mask selects, nothing included, is what it is eagerly`, () => {
    const body = (a: kn.NDArray, mask: kn.NDArray): kn.NDArray => f(a.booleanMask(mask));
    const captured = kn.hybridize(body);
    for (const mask of masks) {
      const [actual, expected] = [captured(x, mask), body(x, mask)];
      assert.deepEqual(actual.shape, expected.shape);
      near(actual.exp().sum().item(), expected.exp().sum().item());
    }
  });
}

test('parameters of a norm have a size that the data decides', () => {
  const body = (a: kn.NDArray, mask: kn.NDArray, gamma: kn.NDArray): kn.NDArray => {
    const columns = kn.take(a, kn.nonzero(mask).reshape([-1]), { axis: 1 });
    return kn.layerNorm(columns, gamma, gamma);
  };
  const captured = kn.hybridize(body);
  const rows = kn.array([
    [1, 2, 4, 8],
    [3, -1, 0, 2],
  ]);
  const all = bool([1, 1, 1, 1]);
  const gamma = kn.array([1, 2, 3, 4]);
  assert.deepEqual(captured(rows, all, gamma).tolist(), body(rows, all, gamma).tolist());
  for (const mask of masks) {
    refuses(() => body(rows, mask, gamma), kn.ShapeError, 'a parameter does not fit');
    refuses(() => captured(rows, mask, gamma).tolist(), kn.ShapeError, 'a parameter does not fit');
  }
});

test('a loop takes states and rows of a size that is the lesser of two which the data decides', () => {
  const body = (a: kn.NDArray, one: kn.NDArray, other: kn.NDArray): kn.NDArray[] => {
    const product = kn.diagonal(
      kn.expandDims(a.booleanMask(one), 1).mul(kn.expandDims(a.booleanMask(other), 0)),
    );
    const rows = kn.stack([product, product.mul(2), product.sub(1)]);
    const step = (row: kn.NDArray, s: kn.NDArray): [kn.NDArray, kn.NDArray] => [row.mul(s), s.add(row)]; // prettier-ignore
    return kn.foreach(step, rows, product);
  };
  const loss = (a: kn.NDArray, one: kn.NDArray, other: kn.NDArray): kn.NDArray =>
    body(a, one, other).reduce((total, part) => total.add(part.sum()), kn.zeros([]));
  const captured = kn.hybridize(body);
  const gradient = kn.hybridize(kn.grad(loss));
  for (const one of masks) {
    for (const other of masks) {
      const plain = (arrays: readonly kn.NDArray[]): unknown =>
        arrays.map((array) => array.tolist());
      assert.deepEqual(plain(captured(x, one, other)), plain(body(x, one, other)));
      assert.deepEqual(gradient(x, one, other).tolist(), kn.grad(loss)(x, one, other).tolist());
    }
  }
});
