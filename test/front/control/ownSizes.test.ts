import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

test('a loop over rows of a size that a branch decides is captured once: names of such sizes are not compared', () => {
  const body = (choice: kn.NDArray, a: kn.NDArray, b: kn.NDArray): [kn.NDArray, kn.NDArray] => {
    const rows = kn.cond(choice, () => a, () => b.mul(2)).pad([[1, 2], [0, 0]]); // prettier-ignore
    return kn.foreach((row: kn.NDArray, s: kn.NDArray) => [row.add(s), s.add(row)], rows, kn.zeros([2])); // prettier-ignore
  };
  const captured = kn.hybridize(body, { verify: 'always' });
  const [a, b] = [kn.ones([4, 2]), kn.ones([1, 2])];
  for (const bit of [true, false, true, false]) {
    const choice = kn.array(bit, { dtype: 'bool' });
    const texts = [captured, body].map((f) => f(choice, a, b).map((array) => array.tolist()));
    assert.deepEqual(texts[0], texts[1]);
  }
});
