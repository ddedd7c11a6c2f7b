import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { cpu } from '../../../src/runtime/memory/device.js';

const [batch, inputs, size] = [4, 8, 16];
const rowBytes = 4 * batch * inputs;
const stateBytes = 4 * batch * size;

/** The memory that gradients of a recurrence over so many rows are computed in. */
function arenaBytes(steps: number, save: 'all' | 'none'): number {
  const loss = (w: kn.NDArray, u: kn.NDArray, x: kn.NDArray): kn.NDArray => {
    const [, last] = kn.foreach(
      (row: kn.NDArray, h: kn.NDArray) => [
        [],
        row.matmul(w).add(h.matmul(u)).tanh().mul(h.sigmoid()),
      ],
      x,
      kn.ones([batch, size]),
      { save },
    );
    return last.sum();
  };
  const step = kn.hybridize(kn.grad(loss, [0, 1]));
  const arena = cpu.arena;
  let most = 0;
  cpu.arena = (bytes) => {
    most = Math.max(most, bytes);
    return arena.call(cpu, bytes);
  };
  try {
    const arrays = [
      kn.ones([inputs, size]),
      kn.ones([size, size]),
      kn.ones([steps, batch, inputs]),
    ];
    step(arrays[0], arrays[1], arrays[2]);
  } finally {
    cpu.arena = arena;
  }
  return most;
}

test('with save none, memory grows by the data and the carried states alone', () => {
  const growth = (save: 'all' | 'none'): number =>
    (arenaBytes(300, save) - arenaBytes(100, save)) / 200;
  assert.equal(growth('none'), rowBytes + stateBytes);
  assert.ok(growth('all') > growth('none') + stateBytes);
});
