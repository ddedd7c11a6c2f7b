import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

test('a gradient knows the size of rows that are one longer than what the data selects', () => {
  const dtype = 'float64';
  const two = kn.array(2, { dtype });
  const total = (x: kn.NDArray, mask: kn.NDArray): kn.NDArray => {
    const body = (row: kn.NDArray, s: kn.NDArray): [kn.NDArray, kn.NDArray] => [
      kn.concat([kn.booleanMask(row, mask), s.expandDims(0)]).mul(s),
      s,
    ];
    return kn.foreach(body, x, two)[0].sum();
  };
  const slope = kn.hybridize((x: kn.NDArray, mask: kn.NDArray) => kn.grad(total)(x, mask));
  const x = kn.array([[1, 2, 3], [4, 5, 6]], { dtype }); // prettier-ignore
  for (const mask of [
    [true, false, true],
    [false, false, false],
    [true, true, true],
  ]) {
    const row = mask.map((each) => (each ? 2 : 0));
    assert.deepEqual(slope(x, kn.array(mask)).tolist(), [row, row]);
  }
});
