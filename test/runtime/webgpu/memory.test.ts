import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { shaderOf } from '../../../src/codegen/wgsl/index.js';
import * as kn from '../../../src/index.js';
import { gpuTarget } from '../../../src/kernels/gpu/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import { openGpu } from '../../../src/runtime/webgpu/adapter.js';
import { WebGpuBackend } from '../../../src/runtime/webgpu/backend.js';
import type { GpuEncoder } from '../../../src/runtime/webgpu/encoder.js';
import { GpuWorker } from '../../../src/runtime/webgpu/remote.js';
import { settings } from '../../support/settings.js';
import { gpuForTests } from '../../support/webgpu.js';

/*
 * Memory of a GPU that nobody manages: loops that never return to the event loop, budgets that hold, a GPU that is
 * lost. In a process of its own: the collector decides how much there is to do.
 */

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
const skipLong = skip || (settings.isLong ? false : 'KAON_LONG_TESTS is not 1');
const opened: WebGpuBackend[] = [];
const places = { 'this thread': openGpu, 'a worker': GpuWorker.open } as const;

after(() => {
  for (const backend of opened) backend.close();
  if (typeof gpu !== 'string') gpu.close();
});

interface Opened {
  readonly backend: WebGpuBackend;
  /** Has the GPU be lost. */
  lose(): void;
}

async function open(
  openCommands: () => Promise<GpuEncoder | GpuWorker>,
  memoryBudget?: number,
): Promise<Opened> {
  let current = await openCommands();
  const backend = new WebGpuBackend(current, {
    target: gpuTarget,
    print: shaderOf,
    reopen: async () => (current = await openCommands()),
    ...(memoryBudget !== undefined && { memoryBudget }),
  });
  opened.push(backend);
  registerDevice(backend);
  // As `initDevice` does.
  await new Promise((resolve) => setTimeout(resolve));
  return { backend, lose: () => current.lose() };
}

/** Runs steps in one go, and tells the most bytes of the GPU's memory that were taken meanwhile. */
function mostTaken(backend: WebGpuBackend, steps: number, step: () => void): number {
  let most = 0;
  for (let k = 0; k < steps; k++) {
    step();
    most = Math.max(most, backend.bytesTaken);
  }
  return most;
}

/** A perceptron and one step of its training with Adam, captured. */
function perceptron(size: number): {
  readonly net: kn.nn.Block;
  readonly optimizer: kn.optim.Optimizer;
  readonly step: (x: kn.NDArray, target: kn.NDArray) => kn.NDArray;
  readonly x: kn.NDArray;
  readonly target: kn.NDArray;
} {
  kn.random.seed(5);
  const net = new kn.nn.Sequential(
    new kn.nn.Dense(size, { activation: 'relu' }),
    new kn.nn.Dense(4),
  );
  const x = kn.random.normal([16, 8]);
  const target = kn.random.normal([16, 4]);
  net.initialize();
  net.call(x);
  net.to('webgpu');
  const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.01 });
  const step = kn.hybridize((given: kn.NDArray, wanted: kn.NDArray) => {
    const loss = kn.autograd.record(() => kn.nn.loss.mse(net.call(given), wanted));
    loss.backward();
    optimizer.step();
    return loss;
  });
  return { net, optimizer, step, x: x.to('webgpu'), target: target.to('webgpu') };
}

test('reports that are lost with the GPU concern nothing but their results', { skip }, async () => {
  const { backend, lose } = await open(openGpu);
  const pick = (position: number): kn.NDArray =>
    kn
      .arange(8)
      .to('webgpu')
      .take(kn.array([position], { dtype: 'int32' }).to('webgpu'));
  const [lost, large] = [pick(1), kn.arange(2000).to('webgpu')];
  lose();
  await assert.rejects(async () => large.data(), kn.DeviceError);
  await backend.synchronize();
  const fresh = kn.arange(2000).to('webgpu');
  // The reports of what was lost are still open.
  assert.equal(Number((await fresh.data())[1999]), 1999);
  await assert.rejects(async () => lost.data(), kn.DeviceError);
  // A read that is refused takes no reports of others with it.
  const [known, refused] = [pick(2), pick(9)];
  await assert.rejects(async () => large.data(), kn.DeviceError);
  await assert.rejects(async () => refused.data(), /index 9 is outside/);
  assert.deepEqual(await known.data(), new Float32Array([2]));
  await backend.synchronize();
});

for (const [place, openCommands] of Object.entries(places)) {
  const budget = 2 ** 26;

  test(
    `eager steps of a synchronous loop stay within the budget, in ${place}`,
    { skip },
    async () => {
      const { backend } = await open(openCommands, budget);
      // Of many small and of few large arrays: 64 KB and 8 MB each.
      for (const [length, steps] of [
        [2 ** 14, 2000],
        [2 ** 21, 30],
      ]) {
        // prettier-ignore
        let x = kn.ones([length]).to('webgpu');
        const most = mostTaken(backend, steps, () => (x = x.mul(0.5).add(1)));
        assert.ok(Math.abs(Number(await x.mean().data()) - 2) < 1e-6);
        assert.ok(most <= budget && backend.bytesTaken <= budget, `${most} bytes`);
      }
    },
  );

  test(
    `captured steps of a synchronous loop stay within the budget, in ${place}`,
    { skip },
    async () => {
      const { backend } = await open(openCommands, budget);
      const { step, x, target } = perceptron(32);
      const begin = Number(await step(x, target).data());
      const { bytesTaken } = backend;
      let loss = x;
      const most = mostTaken(backend, 300, () => (loss = step(x, target)));
      assert.ok(Number(await loss.data()) < begin / 2);
      assert.ok(most <= bytesTaken + 2 ** 23, `${most} bytes after ${bytesTaken}`);
    },
  );

  test(
    `arrays beyond the budget move to the host and come back, in ${place}`,
    { skip },
    async () => {
      const small = 2 ** 23;
      const { backend } = await open(openCommands, small);
      const x = kn.arange(2 ** 18).to('webgpu');
      const held = Array.from({ length: 20 }, (_, k) => x.add(k));
      const sums = held.map((each) => each.sub(x));
      for (const [k, array] of sums.entries()) {
        const elements = await array.data();
        assert.ok(elements.every((element) => element === k));
      }
      assert.ok(backend.bytesTaken <= small);
      const { bytesSpilled } = kn.deviceInfo('webgpu');
      // Forty arrays of 1 MB, of which at most eight are there.
      assert.ok(bytesSpilled >= 32 * 2 ** 20 && bytesSpilled <= 41 * 2 ** 20, `${bytesSpilled}`);
      const last = await held[0].data();
      assert.ok(last.every((element, k) => Number(element) === k));
      assert.throws(() => kn.zeros([2 ** 22]).to('webgpu'), kn.DeviceError);
    },
  );

  test(
    `training goes on from a checkpoint when the GPU is lost, in ${place}`,
    { skip },
    async () => {
      const { backend, lose } = await open(openCommands);
      const { net, optimizer, step, x, target } = perceptron(8);
      const [inputs, targets] = [await x.cpu(), await target.cpu()];
      const folder = await mkdtemp(join(tmpdir(), 'kaon-'));
      const path = join(folder, 'lost.safetensors');
      for (let k = 0; k < 3; k++) step(x, target);
      await kn.saveCheckpoint(path, { net, optimizer });
      const expected: number[] = [];
      for (let k = 0; k < 3; k++) expected.push(Number(await step(x, target).data()));
      lose();
      await assert.rejects(async () => step(x, target).data(), kn.DeviceError);
      await backend.synchronize();
      await kn.loadCheckpoint(path, { net, optimizer });
      net.to('webgpu');
      const again = [inputs.to('webgpu'), targets.to('webgpu')] as const;
      for (const loss of expected) {
        assert.ok(Math.abs(Number(await step(...again).data()) - loss) <= 1e-6 * Math.abs(loss));
      }
      await rm(folder, { recursive: true });
    },
  );

  test(
    `100,000 eager and 10,000 captured steps in one go, in ${place}`,
    { skip: skipLong },
    async () => {
      const { backend } = await open(openCommands, budget);
      let y = kn.ones([16]).to('webgpu');
      const eager = mostTaken(backend, 100_000, () => (y = y.mul(0.5).add(1)));
      assert.ok(Math.abs(Number((await y.data())[0]) - 2) < 1e-6);
      const { step, x, target } = perceptron(32);
      let loss = x;
      const captured = mostTaken(backend, 10_000, () => (loss = step(x, target)));
      assert.ok(Number(await loss.data()) < 0.5);
      console.log(`${place}: at most ${eager} bytes in eager steps, ${captured} in captured ones`);
      assert.ok(Math.max(eager, captured) <= budget);
    },
  );
}
