import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { registerDevice } from '../../src/runtime/device/register.js';
import { FakeBackend } from '../support/fake-device.js';

/* Networks and optimizers on a second device: the same losses as on the CPU. */

const fake = new FakeBackend('fake');
registerDevice(fake);

class Net extends kn.nn.Block {
  readonly first = new kn.nn.Dense(5);
  readonly norm = new kn.nn.BatchNorm();
  readonly last = new kn.nn.Dense(3);

  override forward(x: kn.NDArray): kn.NDArray {
    return this.last.call(kn.tanh(this.norm.call(this.first.call(x))));
  }
}

function made(): { readonly net: Net; readonly x: kn.NDArray; readonly y: kn.NDArray } {
  kn.random.seed(11);
  const net = new Net().initialize();
  const x = kn.random.normal([8, 4]);
  const y = kn.random.randint(0, 3, [8]);
  net.call(x);
  return { net, x, y };
}

const lossOf = (net: Net, x: kn.NDArray, y: kn.NDArray): kn.NDArray =>
  kn.nn.loss.softmaxCrossEntropy(net.call(x), y);

function close(actual: readonly number[], expected: readonly number[]): void {
  actual.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) < 1e-5, `${actual.join()} ${expected.join()}`)); // prettier-ignore
}

async function train(
  form: 'eager' | 'captured',
  device: string,
  movesLate: boolean,
): Promise<number[]> {
  const { net, x, y } = made();
  const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.05 });
  const step = (input: kn.NDArray, target: kn.NDArray): kn.NDArray => {
    const loss = kn.autograd.record(() => lossOf(net, input, target));
    loss.backward();
    optimizer.step();
    return loss;
  };
  const run = form === 'eager' ? step : kn.hybridize(step);
  const losses: kn.NDArray[] = [];
  if (movesLate) losses.push(run(x, y));
  else if (device !== 'cpu') net.to(device);
  if (movesLate && device !== 'cpu') net.to(device);
  const [there, labels] = device === 'cpu' ? [x, y] : [x.to(device), y.to(device)];
  for (let i = 0; i < 4; i++) losses.push(run(there, labels));
  if (device !== 'cpu') {
    for (const parameter of net.parameters().values()) assert.equal(parameter.value.device, device);
    await net.cpu();
    assert.equal(optimizer.steps, losses.length);
    await optimizer.cpu();
    for (const parameter of net.parameters().values()) assert.equal(parameter.value.device, 'cpu');
    losses.push(run(x, y));
  } else losses.push(run(x, y));
  const values: number[] = [];
  for (const loss of losses) values.push(Number((await loss.data())[0]));
  return values;
}

for (const form of ['eager', 'captured'] as const) {
  for (const movesLate of [false, true]) {
    const when = movesLate ? 'moved between steps' : 'moved before';
    test(`${form} training of a network ${when} gives the losses of the CPU`, async () => {
      close(await train(form, 'fake', movesLate), await train(form, 'cpu', movesLate));
    });
  }
}

test('parameters that get their values at the first call get them on the device', () => {
  const net = new kn.nn.Dense(3).initialize();
  net.to('fake');
  const x = kn.ones([2, 4]).to('fake');
  assert.equal(net.call(x).device, 'fake');
  assert.equal(net.weight.value.device, 'fake');
});

test('kept gradients move with their parameters', async () => {
  const { net, x, y } = made();
  kn.autograd.record(() => lossOf(net, x, y)).backward();
  const expected = net.last.weight.grad!.tolist();
  net.to('fake');
  const { grad } = net.last.weight;
  assert.equal(grad!.device, 'fake');
  assert.deepEqual((await grad!.cpu()).tolist(), expected);
});
