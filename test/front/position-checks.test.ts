import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';

const x = kn.arange(6).reshape([2, 3]);
const positions = (values: number[]): kn.NDArray => kn.array(values, { dtype: 'int64' });

for (const [name, run] of Object.entries({
  take: () => x.take(positions([0, 3]), { axis: 1 }),
  gather: () => kn.gather(x, positions([0, 2]).reshape([1, 2]), { axis: 0 }),
  scatterAdd: () => kn.scatterAdd(x, positions([-3]).reshape([1, 1]), [[1]], { axis: 0 }),
})) {
  test(`${name} refuses positions outside the axis, given as an array`, () => {
    assert.throws(run, (error) => error instanceof kn.ArgumentError && error.op === name);
  });
}

test('positions within the axis pass, negative ones from the end', () => {
  assert.deepEqual(x.take(positions([-1, 0]), { axis: 1 }).tolist(), [[2, 0], [5, 3]]); // prettier-ignore
});
