import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import * as kn from '../../../src/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import type { WebGpuBackend } from '../../../src/runtime/webgpu/backend.js';
import { setUpWebGpu } from '../../../src/runtime/webgpu/setup.js';
import { gpuForTests } from '../../support/webgpu.js';

/* Programs of users on a GPU: they learn what they learn on the CPU, with few commands and in bounded memory. */

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
const opened: WebGpuBackend[] = [];

after(() => {
  for (const backend of opened) backend.close();
  if (typeof gpu !== 'string') gpu.close();
});

async function open(worker = false): Promise<WebGpuBackend> {
  const backend = await setUpWebGpu({ worker });
  registerDevice(backend);
  opened.push(backend);
  return backend;
}

interface Training {
  readonly net: kn.nn.Block;
  readonly step: (x: kn.NDArray, target: kn.NDArray) => kn.NDArray;
  readonly x: kn.NDArray;
  readonly target: kn.NDArray;
}

/** A perceptron with one hidden layer, and one step of its training with Adam, captured. */
function perceptron(device: string): Training {
  kn.random.seed(5);
  const net = new kn.nn.Sequential(new kn.nn.Dense(32, { activation: 'relu' }), new kn.nn.Dense(4));
  const x = kn.random.normal([16, 8]);
  const target = kn.random.normal([16, 4]);
  net.initialize();
  net.call(x);
  net.to(device);
  const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.01 });
  const step = kn.hybridize((given: kn.NDArray, wanted: kn.NDArray) => {
    const loss = kn.autograd.record(() => kn.nn.loss.mse(net.call(given), wanted));
    loss.backward();
    optimizer.step();
    return loss;
  });
  return { net, step, x: x.to(device), target: target.to(device) };
}

test('a perceptron learns on a GPU what it learns on the CPU', { skip }, async () => {
  await open();
  const [there, here] = [perceptron('webgpu'), perceptron('cpu')];
  for (let k = 0; k < 20; k++) {
    const [loss, expected] = [there, here].map(({ step, x, target }) => step(x, target));
    const [a] = await loss.data();
    const [b] = await expected.data();
    assert.ok(
      Math.abs(Number(a) - Number(b)) <= 1e-5 * (1 + Math.abs(Number(b))),
      `${a}, not ${b}`,
    );
  }
});

for (const worker of [false, true]) {
  const place = worker ? 'in a worker' : 'in this thread';
  test(`a captured step is few dispatches and reads nothing back, ${place}`, { skip }, async () => {
    const backend = await open(worker);
    const { step, x, target } = perceptron('webgpu');
    for (let k = 0; k < 5; k++) step(x, target);
    await backend.synchronize();
    const before = { ...backend.counts };
    for (let k = 0; k < 10; k++) step(x, target);
    await backend.synchronize();
    const { dispatches, submits, reads, bytesWritten } = backend.counts;
    assert.ok(dispatches - before.dispatches <= 10 * 20);
    assert.ok(submits - before.submits <= Math.ceil((dispatches - before.dispatches) / 32) + 1);
    assert.equal(reads - before.reads, 0);
    // The number of the step and little else.
    assert.ok(bytesWritten - before.bytesWritten <= 10 * 64);
  });
}

test(
  'a step of an LSTM is few dispatches an iteration and reads nothing back',
  { skip },
  async () => {
    const backend = await open();
    /** Commands of one training step over so many iterations. */
    const counted = async (time: number): Promise<{ dispatches: number; reads: number }> => {
      const net = new kn.nn.LSTM(8, { inputs: 6 });
      net.initialize();
      net.to('webgpu');
      const optimizer = new kn.optim.SGD(net.parameters(), { learningRate: 0.01 });
      const step = kn.hybridize((x: kn.NDArray) => {
        const loss = kn.autograd.record(() => net.call(x)[0].square().mean());
        loss.backward();
        optimizer.step();
        return loss;
      });
      const x = kn.random.normal([4, time, 6]).to('webgpu');
      for (let k = 0; k < 3; k++) step(x);
      await backend.synchronize();
      const before = { ...backend.counts };
      step(x);
      await backend.synchronize();
      const { dispatches, reads } = backend.counts;
      return { dispatches: dispatches - before.dispatches, reads: reads - before.reads };
    };
    const [short, long] = [await counted(20), await counted(50)];
    assert.equal(short.reads + long.reads, 0);
    // Forward: product and gates; backward: gates and product.
    assert.ok(long.dispatches - short.dispatches <= 4 * 30);
    assert.ok(long.dispatches <= 4 * 50 + 20);
  },
);
