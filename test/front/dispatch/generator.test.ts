import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { dtypes } from '../../../src/base/dtype.js';
import * as kn from '../../../src/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import { FakeBackend } from '../../support/fake-device.js';

/* The generator behind loops on a device that answers later, of which nobody knows yet how often they have drawn. */

const device = 'of draws';
registerDevice(new FakeBackend(device, { dtypes: dtypes.filter((dtype) => dtype !== 'float64') }));
afterEach(() => (kn.config.device = 'cpu'));

/** Adds random numbers up to 3, taking elements at positions meanwhile, which may be outside. */
const loop = kn.hybridize((start: kn.NDArray, positions: kn.NDArray): kn.NDArray => {
  const [, [sum]] = kn.whileLoop(
    (s: kn.NDArray) => s.less(3),
    (s: kn.NDArray, x: kn.NDArray) => [[], [s.add(kn.random.uniform([])), x.take(positions)]],
    [start, kn.ones([2])],
  );
  return sum;
});

const run = (...positions: number[]): kn.NDArray =>
  loop(kn.array(0), kn.array(positions, { dtype: 'int32' }));

const elements = async (x: kn.NDArray): Promise<number[]> => [...(await x.data())].map(Number);

test('a loop that fails leaves the generator where it was', async () => {
  const found: number[][][] = [];
  for (const place of ['cpu', device]) {
    kn.config.device = place;
    kn.random.seed(5);
    const draws = [await elements(run(0, 1))];
    await assert.rejects(async () => run(0, 7).data(), /index 7 is outside/);
    draws.push(await elements(run(0, 1)), await elements(kn.random.uniform([2])));
    draws.push(await elements(kn.random.permutation(4)));
    found.push(draws);
  }
  assert.deepEqual(found[0], found[1]);
});

test('of loops that follow on each other without waiting, the last one that did not fail counts', async () => {
  kn.random.seed(5);
  run(0, 1);
  const { counter } = kn.random.getState();
  kn.config.device = device;
  kn.random.seed(5);
  const outcomes = await Promise.allSettled([run(0, 1), run(0, 7)].map((x) => x.data()));
  assert.deepEqual(outcomes.map(({ status }) => status), ['fulfilled', 'rejected']); // prettier-ignore
  assert.equal(kn.random.getState().counter, counter);
});

test('draws that would have to wait are refused, and say for what', async () => {
  kn.config.device = device;
  kn.random.seed(6);
  const sum = run(0, 1);
  const refusal = { name: 'DeviceError', message: /how many random numbers a loop has drawn[^]*await loss.data/ }; // prettier-ignore
  // The device has no float64, from which an order is drawn.
  assert.throws(() => kn.random.permutation(4), refusal);
  assert.throws(() => kn.random.getState(), refusal);
  kn.config.device = 'cpu';
  assert.throws(() => kn.random.normal([2]), refusal);
  await sum.data();
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(kn.random.normal([2]).size, 2);
});

test('a seed that is set while a loop has not answered stays', async () => {
  kn.config.device = device;
  const sum = run(0, 1);
  kn.random.seed(9);
  await sum.data();
  assert.deepEqual(kn.random.getState(), { seed: 9n, counter: 0n });
});

test('checkpoints wait for loops, and layers that learn their sizes do not', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kaon-generator-'));
  const path = join(folder, 'checkpoint');
  try {
    kn.config.device = device;
    kn.random.seed(7);
    const net = new kn.nn.Dense(2).initialize();
    run(0, 1);
    net.call(kn.ones([1, 3]));
    const saved = kn.saveCheckpoint(path, { net });
    const later = run(0, 1);
    await saved;
    const after = await elements(later);
    run(0, 1);
    await kn.loadCheckpoint(path, { net });
    assert.deepEqual(await elements(run(0, 1)), after);
  } finally {
    await rm(folder, { recursive: true });
  }
});
