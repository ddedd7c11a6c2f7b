import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

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
      // Its gradient asks for a maximum, and is refused where the data picks nothing (docs/status.md).
      if (name === 'logsumexp') continue;
      x.attachGrad();
      kn.autograd.record(() => run(x, none).sum()).backward();
      assert.deepEqual(x.grad!.tolist(), kn.zeros([rows, 3]).tolist(), `gradient of ${rows} rows`);
    }
  });
}

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
