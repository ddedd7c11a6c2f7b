import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near } from '../support.js';

test('a loop ends when its condition does, or its limit is reached', () => {
  const run = (maxIterations?: number): unknown => {
    const [outputs, [i, x], count] = kn.whileLoop(
      (_, x) => x.less(50),
      (i, x) => [{ x }, [i.add(1), x.mul(2)]],
      [kn.array(0), kn.array(1)],
      { maxIterations },
    );
    assert.equal(count.dtype, 'int32');
    return [outputs.x.tolist(), i.item(), x.item(), count.item()];
  };
  assert.deepEqual(run(), [[1, 2, 4, 8, 16, 32], 6, 64, 6]);
  assert.deepEqual(run(2), [[1, 2], 2, 4, 2]);
  assert.deepEqual(run(0), [[], 0, 1, 0]);
});

test('rows of padded outputs beyond the iterations are zero', () => {
  const run = (start: number): unknown =>
    kn
      .whileLoop(
        (x) => x.less(3),
        (x) => [kn.stack([x, x]), x.add(1)],
        kn.array(start),
        { maxIterations: 4, padded: true },
      )
      .map((each) => (each as kn.NDArray).tolist());
  assert.deepEqual(run(1), [[[1, 1], [2, 2], [0, 0], [0, 0]], 3, 2]); // prettier-ignore
  assert.deepEqual(run(9), [[[0, 0], [0, 0], [0, 0], [0, 0]], 9, 0]); // prettier-ignore
  assert.deepEqual(run(-2), [[[-2, -2], [-1, -1], [0, 0], [1, 1]], 2, 4]); // prettier-ignore
});

test('there may be no loop variables at all, and records are passed as one', () => {
  const x = kn.array(1);
  const [out, none, count] = kn.whileLoop(
    () => x.greater(0),
    () => [x.mul(2), []],
    [],
    { maxIterations: 3 },
  );
  assert.deepEqual([out.tolist(), none, count.item()], [[2, 2, 2], [], 3]);
  const [, { a, b }] = kn.whileLoop(
    ({ a }) => a.less(3),
    ({ a, b }) => [[], { b: b.add(a), a: a.add(1) }],
    { a: kn.array(0), b: kn.array(10) },
  );
  assert.deepEqual([a.item(), b.item()], [3, 13]);
  const [, last] = kn.whileLoop(
    ({ length }) => length.less(3),
    ({ length, isDone }) => [[], { length: length.add(1), isDone }],
    { length: kn.array(0), isDone: kn.array(true) },
  );
  assert.deepEqual([last.length.item(), last.isDone.item()], [3, true]);
});

test('gradients flow through as many iterations as there were', () => {
  const f = (x: kn.NDArray): kn.NDArray => {
    const [rows, last] = kn.whileLoop(
      (y) => y.less(100),
      (y) => [y.square(), y.mul(x)],
      x,
    );
    return rows.sum().add(last);
  };
  // 3, 9, 27, 81, 243: the sum of x^2k for k = 1..4, and x^5.
  near(kn.grad(f)(kn.array(3)).item(), 2 * 3 + 4 * 27 + 6 * 243 + 8 * 2187 + 5 * 81);
  near(kn.grad(f)(kn.array(200)).item(), 1);
});

test('a condition may draw; equal seeds give equal loops', () => {
  const run = (): unknown => {
    kn.random.seed(11);
    const [, last, count] = kn.whileLoop(
      () => kn.random.uniform([]).less(0.8),
      (s) => [[], s.add(kn.random.uniform([]))],
      kn.array(0),
      { maxIterations: 50 },
    );
    return [last.item(), count.item(), kn.random.uniform([]).item()];
  };
  assert.deepEqual(run(), run());
});
