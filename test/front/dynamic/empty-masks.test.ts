import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near } from '../support.js';

/* Masks that pick nothing: of arrays without rows, where the compiler knows it, and of others, where the data says so. */

/** Results for a vector without elements. */
const cases: Readonly<Record<string, readonly [(x: kn.NDArray) => kn.NDArray, unknown]>> = {
  softmax: [(x) => x.softmax(), []],
  logSoftmax: [(x) => x.logSoftmax(), []],
  logsumexp: [(x) => x.logsumexp(), -Infinity],
  sum: [(x) => x.sum(), 0],
  prod: [(x) => x.prod(), 1],
  cumsum: [(x) => x.cumsum(0), []],
  sort: [(x) => x.sort(), []],
};

for (const [name, [body, expected]] of Object.entries(cases)) {
  test(`a mask that picks nothing: ${name}`, () => {
    const picked = (x: kn.NDArray, mask: kn.NDArray): kn.NDArray => body(kn.booleanMask(x, mask));
    const run = kn.hybridize(picked);
    for (const rows of [0, 2, 1, 0]) {
      const [x, none] = [kn.ones([rows, 3]), kn.zeros([rows, 3], { dtype: 'bool' })];
      assert.deepEqual(run(x, none).tolist(), expected, `${rows} rows`);
      x.attachGrad();
      kn.autograd.record(() => run(x, none).sum()).backward();
      assert.deepEqual(x.grad!.tolist(), kn.zeros([rows, 3]).tolist(), `gradient of ${rows} rows`);
    }
  });
}

test('a mask that picks nothing: columns of logsumexp, and gradients of its gradient', () => {
  const picked = (x: kn.NDArray, mask: kn.NDArray): kn.NDArray =>
    kn.expandDims(kn.booleanMask(x, mask), 1).mul(kn.ones([1, 2])).logsumexp(0).exp().sum(); // prettier-ignore
  const once = (x: kn.NDArray, mask: kn.NDArray): kn.NDArray => kn.grad(picked, [0])(x, mask)[0];
  const twice = (x: kn.NDArray, mask: kn.NDArray): kn.NDArray =>
    kn.grad((y: kn.NDArray) => once(y, mask).sum())(x);
  const [x, all, none] = [kn.array([0.5, -1]), kn.array([true, true]), kn.array([false, false])];
  for (const gradient of [once, twice]) {
    const run = kn.hybridize(gradient);
    assert.deepEqual(run(x, none).tolist(), [0, 0]);
    // The sum of twice the exponentials.
    near(run(x, all).tolist(), [2 * Math.exp(0.5), 2 * Math.exp(-1)]);
  }
});

test('scattering at no positions into rows of which the data decides how many there are', () => {
  const added = (a: kn.NDArray, n: kn.NDArray, at: kn.NDArray, by: kn.NDArray): kn.NDArray => {
    const [rows] = kn.whileLoop(
      (i: kn.NDArray) => i.less(n),
      (i: kn.NDArray) => [a.mul(i.add(1)), i.add(1)],
      kn.array(0),
    );
    return kn.scatterAdd(rows.sinh(), at, by, 0);
  };
  const run = kn.hybridize(added);
  const a = kn.array([0.25]);
  const [at, by] = [kn.zeros([2, 0], { dtype: 'int64' }), kn.zeros([2, 0])];
  for (const count of [0, 3, 1]) {
    const expected = Array.from({ length: count }, (_, i) => [Math.sinh(0.25 * (i + 1))]);
    near(run(a, kn.array(count), at, by).tolist(), expected);
  }
  const outside = kn.array([[1n], [3n]], { dtype: 'int64' });
  const late = kn.hybridize(added);
  assert.throws(
    () => late(a, kn.array(3), outside, kn.ones([2, 1])),
    /index 3 is outside the axis/,
  );
});

test('a mask that picks nothing: there is no maximum of nothing', () => {
  const run = kn.hybridize((x: kn.NDArray, mask: kn.NDArray) => kn.booleanMask(x, mask).max());
  for (const rows of [0, 2]) {
    assert.throws(() => run(kn.ones([rows]), kn.zeros([rows], { dtype: 'bool' })), {
      name: 'ShapeError',
      message: /no element to choose from/,
    });
  }
});

test('rows of a loop that no iteration has any element of, since its boxes are none', () => {
  const kept = (x: kn.NDArray, boxes: kn.NDArray, scores: kn.NDArray): kn.NDArray =>
    kn.foreach(() => [kn.nonMaxSuppression(boxes, scores), []], x, [])[0];
  const run = kn.hybridize(kept);
  for (const count of [0, 2, 0]) {
    const [boxes, scores] = [kn.zeros([count, 4]), kn.zeros([count])];
    const rows = run(kn.ones([2]), boxes, scores);
    // Boxes without an area do not overlap.
    const numbers = Array.from({ length: count }, (_, i) => BigInt(i));
    assert.deepEqual(rows.tolist(), [numbers, numbers], `${count} boxes`);
  }
});
