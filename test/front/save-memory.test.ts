import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as kn from '../../src/index.js';
import { cpu } from '../../src/runtime/memory/device.js';

const { autograd } = kn;

/** What recorded calls hold, in bytes: while they wait for backward, after it, and when dropped instead. */
function held(): void {
  const collect = (): number => {
    // Buffers are freed beside the program; the next collection waits for that.
    for (let i = 0; i < 3; i++) (globalThis as unknown as { gc: () => void }).gc();
    return process.memoryUsage().arrayBuffers;
  };
  // Everything on the host, where the engine counts it.
  cpu.residents.budget = 0;
  const layers = 8;
  const f = (x: kn.NDArray, w: kn.NDArray): kn.NDArray => {
    let h = x;
    for (let layer = 0; layer < layers; layer++) h = kn.gelu(h.matmul(w));
    return h.mean();
  };
  const report = (['all', 'auto', 'none'] as const).map((save) => {
    const g = kn.hybridize(f, { save });
    const [x, w] = [kn.ones([4096, 32]), kn.eye(32)];
    w.attachGrad({ req: 'add' });
    for (let call = 0; call < 2; call++) autograd.record(() => g(x, w)).backward();
    const before = collect();
    const losses = Array.from({ length: 6 }, () => autograd.record(() => g(x, w)));
    const waiting = collect() - before;
    for (const loss of losses.slice(3)) loss.backward();
    const half = collect() - before;
    losses.length = 0;
    return { waiting, half, after: collect() - before };
  });
  console.log(JSON.stringify(report));
}

if (process.env['KAON_SAVE_CHILD'] === '1') held();
else {
  test('each call has saved values of its own, which go with its backward pass or its result', () => {
    const child = spawnSync(process.execPath, ['--expose-gc', fileURLToPath(import.meta.url)], {
      env: { ...process.env, KAON_SAVE_CHILD: '1' },
      encoding: 'utf8',
    });
    assert.equal(child.status, 0, child.stderr);
    const activation = 4096 * 32 * 4;
    const report = JSON.parse(child.stdout) as { waiting: number; half: number; after: number }[];
    // Of eight layers: products and activations, products only, nothing.
    [15, 8, 0].forEach((arrays, k) => {
      const { waiting, half, after } = report[k];
      const slack = activation / 2;
      assert.ok(Math.abs(waiting - 6 * arrays * activation) < 6 * slack, `${waiting} wait`);
      assert.ok(Math.abs(half - 3 * arrays * activation) < 3 * slack, `${half} are left`);
      assert.ok(after < slack, `${after} after all`);
    });
  });
}
