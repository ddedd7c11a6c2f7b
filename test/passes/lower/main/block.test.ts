import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';

const names = ['count_0', 'count_1', 'count_0_0', 'count_0__0'];

for (const name of names) {
  test(`a size that an iteration decides is not taken for an axis named ${name}`, () => {
    const w = [-1, 0.25, 2, 5];
    const f = kn.hybridize(
      (x: kn.NDArray, weights: kn.NDArray) =>
        kn.foreach(
          (row: kn.NDArray, state: kn.NDArray) => {
            const selected = kn.booleanMask(weights, weights.greater(state));
            return [row.mul(2), state.add(selected.exp().sum().tanh().mul(0.5))];
          },
          x,
          kn.zeros([], { dtype: 'float64' }),
        ),
      { dynamic: [[name], null] },
    );
    for (const rows of [[1, 2, 3], [4], [5, 6, 7, 8, 9]]) {
      const dtype = 'float64';
      const [doubled, state] = f(kn.array(rows, { dtype }), kn.array(w, { dtype }));
      let expected = 0;
      for (const _ of rows) {
        const powers = w.filter((each) => each > expected).map(Math.exp);
        expected += Math.tanh(powers.reduce((a, b) => a + b, 0)) * 0.5;
      }
      assert.deepEqual(doubled.tolist(), rows.map((row) => row * 2)); // prettier-ignore
      assert.ok(Math.abs(Number(state.item()) - expected) < 1e-12);
    }
  });
}
