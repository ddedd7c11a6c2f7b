import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near } from '../support.js';

// Random numbers drawn in branches and bodies of static graphs in pieces.

test('a branch draws behind side-effect code, whether or not its result is read', () => {
  const seen: boolean[] = [];
  const look = kn.staticCode((x: kn.NDArray) => void seen.push(x.item() === true));
  const body = (mask: kn.NDArray, x: kn.NDArray): kn.NDArray => {
    const any = mask.any();
    look(any);
    kn.cond(any, () => kn.random.normal([2, 2]), () => x.mul(2)); // prettier-ignore
    return kn.random.uniform([2]).add(x.sum());
  };
  const x = kn.ones([2, 2]);
  const run = (f: typeof body): unknown[] => {
    kn.random.seed(5);
    return [true, false, true].map((bit) => f(kn.array([bit], { dtype: 'bool' }), x).tolist());
  };
  const expected = run(body);
  assert.deepEqual(run(kn.staticGraph(body)), expected);
  assert.notDeepEqual(expected[0], expected[1]);
  assert.deepEqual(seen.slice(0, 3), [true, false, true]);
});

test('a gradient behind side-effect code runs a loop that draws from where it started', () => {
  const look = kn.staticCode((x: kn.NDArray) => void x.dataSync());
  const body = (x: kn.NDArray, w: kn.NDArray): kn.NDArray[] => {
    w.attachGrad();
    const noise = kn.random.normal([2]);
    const loss = kn.autograd.record(() => {
      const [, state] = kn.foreach(
        (row: kn.NDArray, s: kn.NDArray) => [[], s.mul(w).add(kn.random.normal([2])).add(row).tanh()],
        x,
        kn.zeros([2]),
      ); // prettier-ignore
      look(x);
      return kn.random.uniform([2]).add(w).mul(state).sum();
    });
    look(loss.detach());
    const [gradient] = kn.autograd.grad(loss, [w]);
    return [noise, gradient, kn.random.uniform([2])];
  };
  const run = (f: typeof body): { calls: unknown; state: unknown } => {
    kn.random.seed(7);
    const calls = [1, 2, 3].map((scale) =>
      f(kn.ones([3, 2]).mul(scale), kn.array([0.5, 0.25])).map((each) => each.tolist()),
    );
    return { calls, state: kn.random.getState() };
  };
  const [actual, expected] = [kn.staticGraph(body), body].map(run);
  near(actual.calls, expected.calls);
  assert.deepEqual(actual.state, expected.state);
});

test('a gradient that was there before side-effect code is read behind it as it was', () => {
  const look = kn.staticCode((x: kn.NDArray) => void x.dataSync());
  const w = kn.array([1, 2]);
  const body = (x: kn.NDArray): kn.NDArray => {
    const before = w.grad!;
    look(x);
    kn.autograd.record(() => w.mul(x).sum()).backward();
    look(x);
    return before.add(w.grad!.mul(10));
  };
  const run = (f: typeof body): unknown[] => {
    w.attachGrad();
    return [1, 2, 3].map((scale) => f(kn.ones([2]).mul(scale)).tolist());
  };
  const expected = [
    [10, 10],
    [21, 21],
    [32, 32],
  ];
  assert.deepEqual(run(body), expected);
  assert.deepEqual(run(kn.staticGraph(body)), expected);
});
