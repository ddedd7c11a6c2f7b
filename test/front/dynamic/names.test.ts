import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

test('what is required of sizes speaks of the same sizes once dead ones have left their names to others', () => {
  // In a process of its own: the sizes of the first capture are counted from 0, like those of a program.
  const f = (mask: kn.NDArray, n: kn.NDArray): kn.NDArray[] => {
    const count = kn.countNonzero(mask);
    kn.zeros(count.reshape([1])); // nothing reads it, so that later sizes get other names
    const square = kn.ones(kn.stack([count, count]));
    const turned = square.reshape(kn.flip(kn.shapeOf(square), 0));
    return [turned, kn.arange(n), kn.arange(n.add(1))];
  };
  const captured = kn.hybridize(f);
  const mask = kn.array([true, true, false]);
  for (const n of [5, 1, 7]) {
    const given = kn.array(n, { dtype: 'int32' });
    const [turned, first, second] = captured(mask, given);
    assert.deepEqual([turned.shape, first.shape, second.shape], [[2, 2], [n], [n + 1]]);
  }
});
