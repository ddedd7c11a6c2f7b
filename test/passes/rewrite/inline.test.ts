import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

/*
 * Graphs that captured code calls, where sizes that only the graph decides meet others: the size of what the graph
 * returns is then an expression of them.
 */

const sum = (x: kn.NDArray, count: kn.NDArray): kn.NDArray => x.add(kn.arange(count).mul(10));
const long = (count: number): kn.NDArray => kn.array(count, { dtype: 'int64' });

test('a graph that decides a size, which then meets another one, is part of captured code', () => {
  const graph = kn.hybridize(sum, { dynamic: [['s'], null] }).graphFor(kn.ones([3]), long(3));
  const [x, count] = graph.inputNames;
  const run = (given: kn.NDArray, n: kn.NDArray): kn.NDArray => graph.run({ [x]: given, [count]: n })['output']; // prettier-ignore
  const numbers = kn.array([1, 2, 3]);
  const one = kn.array([5]);
  const once = kn.hybridize(run);
  const twice = kn.hybridize((a: kn.NDArray, n: kn.NDArray, m: kn.NDArray) => [run(a, n).mul(2), run(run(a, n), m)]); // prettier-ignore
  for (let call = 0; call < 3; call++) {
    assert.deepEqual(once(numbers, long(3)).tolist(), [1, 12, 23]);
    assert.deepEqual(once(numbers, long(1)).tolist(), [1, 2, 3]);
    assert.deepEqual(once(one, long(4)).tolist(), [5, 15, 25, 35]);
    const [doubled, again] = twice(one, long(2), long(1));
    assert.deepEqual([doubled.tolist(), again.tolist()], [[10, 30], [5, 15]]); // prettier-ignore
  }
  assert.throws(() => once(numbers, long(2)), kn.ShapeError);
  const slope = kn.hybridize(kn.grad((a: kn.NDArray, n: kn.NDArray) => run(a, n).square().sum()));
  // d/dx of the sum of (x + 10 k)^2
  assert.deepEqual(slope(numbers, long(3)).tolist(), [2, 24, 46]);
  assert.deepEqual(slope(one, long(3)).tolist(), [2 * (5 + 15 + 25)]);
});
