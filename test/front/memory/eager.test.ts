import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { cpu } from '../../../src/runtime/memory/device.js';
import { inChild, isLong, servedCase } from './child.js';

/** Networks of about 100,000 parameters, with arrays of sizes that stay on the host, are read there, or live on the device. */
const networks: Readonly<Record<string, readonly number[]>> = {
  'small activations and large gradients': [64, 256, 256, 10],
  'one large weight': [784, 128, 10],
  'weights below the size of results on the device': [100, 300, 200, 10],
};

const steps = isLong ? 5_000 : 500;
const batchSize = 64;
/** Of the whole process, some 110 MB of which are Node and compiled code. */
const mostBytes = 300e6;

interface Report {
  /** The most that the process has taken. */
  readonly peak: number;
  readonly resident: number;
  readonly losses: readonly [number, number];
}

async function train(sizes: readonly number[], pauses: boolean): Promise<Report> {
  kn.random.seed(3);
  const layers = sizes.slice(1).map((size, i) => new kn.nn.Dense(size, { activation: i < sizes.length - 2 ? 'relu' : null })); // prettier-ignore
  const net = new kn.nn.Sequential(...layers).initialize();
  const x = kn.random.normal([batchSize, sizes[0]]);
  const y = kn.random.randint(0, 10, [batchSize]);
  net.call(x);
  const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 1e-3 });
  const losses: number[] = [];
  for (let i = 0; i < steps; i++) {
    const loss = kn.autograd.record(() => kn.nn.loss.softmaxCrossEntropy(net.call(x), y));
    loss.backward();
    optimizer.step();
    if (i === 0 || i === steps - 1) losses.push(Number(loss.item()));
    if (pauses) await new Promise((resolve) => setImmediate(resolve));
  }
  return {
    peak: process.resourceUsage().maxRSS * 1024,
    resident: cpu.residents.bytes,
    losses: [losses[0], losses[1]],
  };
}

/** By day only the first network has pauses. */
const cases = Object.fromEntries(
  Object.entries(networks).flatMap(([name, sizes], k) => [
    [`${name}, in one piece`, () => train(sizes, false)],
    ...(isLong || k === 0 ? [[`${name}, with pauses`, () => train(sizes, true)] as const] : []),
  ]),
);

if (!(await servedCase(cases))) {
  for (const name of Object.keys(cases)) {
    test(`${steps} eager training steps in 300 MB: ${name}`, () => {
      const { peak, resident, losses } = inChild<Report>(import.meta.url, name);
      assert.ok(losses[1] < losses[0] / 10, `the loss went from ${losses.join(' to ')}`);
      assert.ok(peak < mostBytes, `${(peak / 1e6).toFixed(0)} MB, ${resident} bytes on the device`);
    });
  }

  test('config.memoryBudget bounds what arrays keep on the device, and takes no nonsense', () => {
    const x = kn.ones([2 ** 18]);
    const kept = Array.from({ length: 8 }, (_, i) => x.mul(i));
    assert.ok(cpu.residents.bytes >= 8 * 2 ** 20);
    const before = kn.config.memoryBudget;
    try {
      kn.config.memoryBudget = 2 ** 21;
      assert.ok(cpu.residents.bytes <= 2 ** 21);
      kept.forEach((array, i) => assert.equal(array.mean().item(), i));
      assert.ok(cpu.residents.bytes <= 2 ** 21);
      for (const wrong of [-1, NaN, Infinity, '1', null]) {
        assert.throws(() => (kn.config.memoryBudget = wrong as number), kn.ArgumentError);
      }
      assert.equal(kn.config.memoryBudget, 2 ** 21);
    } finally {
      kn.config.memoryBudget = before;
    }
  });
}
