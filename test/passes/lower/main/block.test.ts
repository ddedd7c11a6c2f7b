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

test('blocks may find sizes again that they are given: second derivatives of nested loops whose rows the data decides', () => {
  const counter = (): kn.NDArray => kn.array(0, { dtype: 'int32' });
  const isBefore = (i: kn.NDArray, limit: kn.NDArray): kn.NDArray => i.less(limit);
  const f = (limit: kn.NDArray, s: kn.NDArray, w: kn.NDArray): kn.NDArray => {
    const [all] = kn.whileLoop(
      (i: kn.NDArray) => isBefore(i, limit),
      (i: kn.NDArray, state: kn.NDArray) => {
        const [rows] = kn.whileLoop(
          (j: kn.NDArray) => isBefore(j, limit),
          (j: kn.NDArray, inner: kn.NDArray) => [w.mul(inner), [j.add(1), inner]],
          [counter(), state],
          {},
        );
        return [rows as kn.NDArray, [i.add(1), state]];
      },
      [counter(), s],
      { maxIterations: 4 },
    );
    return (all as kn.NDArray).square();
  };
  const [alongS, alongW] = [
    [1, -1, 2],
    [0.5, 2, 1],
  ];
  const [bs, bw] = [kn.array(alongS), kn.array(alongW)];
  const along =
    (g: typeof f): typeof f =>
    (...args) => {
      const [ds, dw] = kn.grad(g, [1, 2])(...args);
      return ds.mul(bs).sum().add(dw.mul(bw).sum());
    };
  const [s, w, count] = [[1, 2, 3], [0.5, 1, 2], 3]; // prettier-ignore
  const found = kn.hybridize(along(along(f)))(kn.array(count, { dtype: 'int32' }), kn.array(s), kn.array(w)); // prettier-ignore
  // Each of count squared rows is (w s)^2.
  const expected = s.reduce((sum, x, k) => {
    const [y, a, b] = [w[k], alongS[k], alongW[k]];
    return sum + count ** 2 * 2 * (y * y * a * a + 4 * x * y * a * b + x * x * b * b);
  }, 0);
  assert.ok(
    Math.abs(Number(found.item()) / expected - 1) < 1e-5,
    `${found.item()}, not ${expected}`,
  );
});
