import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

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
