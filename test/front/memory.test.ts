import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import * as kn from '../../src/index.js';

/**
 * A training loop without a single pause, in a process of its own: nothing may rely on finalizers, which
 * do not run before the loop is over. `KAON_LONG_TESTS=1` takes 100,000 steps.
 */
const steps = process.env['KAON_LONG_TESTS'] === '1' ? 100_000 : 5_000;

function train(): void {
  kn.random.seed(1);
  const truth = kn.random.normal([8, 4]);
  const x = kn.random.normal([64, 8]);
  const target = x.matmul(truth);
  const [w, b] = [kn.zeros([8, 4]), kn.ones([4])];
  for (const parameter of [w, b]) parameter.attachGrad();
  for (let step = 0; step < steps; step++) {
    const loss = kn.autograd.record(() => {
      const y = x.matmul(w).add(b);
      y.tanh(); // part of the recording, but not of the loss
      return y.sub(target).square().mean();
    });
    loss.backward();
    for (const parameter of [w, b]) parameter.assign(parameter.sub(parameter.grad!.mul(0.1)));
    if (step % 3 === 0) kn.autograd.record(() => x.matmul(w)); // recorded, never differentiated
  }
  const { maxRSS } = process.resourceUsage();
  const error = Math.max(Number(w.sub(truth).abs().max().item()), Number(b.abs().max().item()));
  console.log(JSON.stringify({ megabytes: maxRSS / 1024, error }));
}

if (process.env['KAON_MEMORY_CHILD'] === '1') train();
else {
  test(`${steps} eager training steps in one loop stay below 300 MB`, () => {
    // Left to itself the engine of Node 24 collects garbage only when there are 200 MB of it.
    const flags = ['--max-old-space-size=100'];
    const child = spawnSync(process.execPath, [...flags, fileURLToPath(import.meta.url)], {
      env: { ...process.env, KAON_MEMORY_CHILD: '1' },
      encoding: 'utf8',
    });
    assert.equal(child.status, 0, child.stderr);
    const { megabytes, error } = JSON.parse(child.stdout) as { megabytes: number; error: number };
    assert.ok(error < 1e-4, `the weights are ${error} away from those that made the data`);
    assert.ok(megabytes < 300, `${megabytes} MB`);
  });
}
