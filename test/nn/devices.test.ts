import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { dtypes } from '../../src/base/dtype.js';
import * as kn from '../../src/index.js';
import { registerDevice } from '../../src/runtime/device/register.js';
import { FakeBackend } from '../support/fake-device.js';

/* Networks and optimizers on a second device: the same losses as on the CPU. */

const fake = new FakeBackend('fake');
registerDevice(fake);
// It can hold the state of random numbers, which follows the other operands.
registerDevice(new FakeBackend('with int64', { dtypes }));

class Net extends kn.nn.Block {
  readonly first = new kn.nn.Dense(5);
  readonly norm = new kn.nn.BatchNorm();
  readonly dropout = new kn.nn.Dropout(0.25);
  readonly last = new kn.nn.Dense(3);

  override forward(x: kn.NDArray): kn.NDArray {
    return this.last.call(this.dropout.call(kn.tanh(this.norm.call(this.first.call(x)))));
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
    for (const device of ['fake', 'with int64']) {
      test(`${form} training of a network ${when} gives the losses of the CPU on a device ${device}`, async () => {
        close(await train(form, device, movesLate), await train(form, 'cpu', movesLate));
      });
    }
  }
}

test('parameters that get their values at the first call get them on the device', () => {
  const net = new kn.nn.Dense(3).initialize();
  net.to('fake');
  const x = kn.ones([2, 4]).to('fake');
  assert.equal(net.call(x).device, 'fake');
  assert.equal(net.weight.value.device, 'fake');
});

test('recurrent layers with lengths run eagerly, outside of captured code, on a device that answers later', async () => {
  kn.random.seed(5);
  const lstm = new kn.nn.LSTM(3, { layers: 2, bidirectional: true }).initialize();
  const lengths = [4, 0, 2];
  const x = kn.random.normal([3, 4, 2]);
  const run = (sequence: kn.NDArray): readonly kn.NDArray[] => {
    const { loss, outputs, h, c } = kn.autograd.record(() => {
      const [outputs, [h, c]] = lstm.call(sequence, { lengths });
      return { loss: outputs.sum().add(h.square().sum()), outputs, h, c };
    });
    loss.backward();
    return [outputs, h, c, lstm.cells[0].parameters().values().next().value!.grad!];
  };
  const expected = run(x).map((array) => [...array.dataSync()].map(Number));
  lstm.to('fake');
  for (const [k, array] of run(x.to('fake')).entries()) {
    assert.equal(array.device, 'fake');
    close([...(await array.data())].map(Number), expected[k]);
  }
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

test('files of networks, checkpoints and arrays wait for a device that answers later', async () => {
  const { net, x, y } = made();
  const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.05 });
  const step = kn.hybridize((input: kn.NDArray, target: kn.NDArray) => {
    const loss = kn.autograd.record(() => lossOf(net, input, target));
    loss.backward();
    optimizer.step();
    return loss;
  });
  net.to('fake');
  const [there, labels] = [x.to('fake'), y.to('fake')];
  step(there, labels);
  const folder = await mkdtemp(join(tmpdir(), 'kaon-'));
  try {
    const [parameters, checkpoint] = [join(folder, 'net.safetensors'), join(folder, 'run.safetensors')]; // prettier-ignore
    const saved = [
      net.saveParameters(parameters),
      kn.saveCheckpoint(checkpoint, { net, optimizer }),
    ];
    // Files have what there was when they were asked for.
    const next = step(there, labels);
    await Promise.all(saved);
    assert.throws(() => net.toSafetensors(), kn.DeviceError);
    assert.throws(() => kn.encodeCheckpoint({ net, optimizer }), kn.DeviceError);
    const bytes = await kn.saveToBytes('npz', { x: there });
    assert.deepEqual(await kn.load(bytes).then((all) => (all as Record<string, kn.NDArray>).x.tolist()), x.tolist()); // prettier-ignore
    await kn.loadCheckpoint(checkpoint, { net, optimizer });
    assert.equal(optimizer.steps, 1);
    const again = await step(there, labels).data();
    close([...again].map(Number), [...(await next.data())].map(Number));
    const { net: other } = made();
    await other.loadParameters(parameters);
    await kn.loadCheckpoint(checkpoint, { net, optimizer });
    await net.cpu();
    for (const [name, { value }] of other.parameters()) {
      assert.deepEqual(value.tolist(), net.parameters().get(name)!.value.tolist());
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a static graph runs where it is moved, and comes back', async () => {
  const { net, x } = made();
  const expected = net.call(x).tolist() as number[][];
  const graph = kn.StaticGraph.fromJSON(
    JSON.stringify(kn.hybridize((given: kn.NDArray) => net.call(given)).graphFor(x)),
  );
  const text = JSON.stringify(graph);
  const [input] = graph.inputNames;
  const [output] = graph.outputNames;
  assert.equal(graph.to('fake'), graph);
  const result = graph.run({ [input]: x.to('fake') })[output];
  assert.equal(result.device, 'fake');
  const elements = [...(await result.data())].map(Number);
  close(elements, expected.flat());
  assert.throws(() => graph.toJSON(), kn.DeviceError);
  assert.throws(() => graph.run({ [input]: x }), kn.DeviceError);
  assert.equal(await graph.cpu(), graph);
  assert.equal(JSON.stringify(graph), text);
  close((graph.run({ [input]: x })[output].tolist() as number[][]).flat(), expected.flat());
  assert.throws(() => graph.to('nowhere'), kn.ArgumentError);
});

/** Code that makes arrays of its own beside those of a device, while new arrays live on the CPU. */
const makers: Readonly<Record<string, (x: kn.NDArray, to: <B extends kn.nn.Block>(net: B) => B) => kn.NDArray>> = {
  dropout: (x, to) => kn.autograd.trainMode(() => to(new kn.nn.Dropout(0.5)).call(x)),
  'the states of a recurrent layer': (x, to) => to(new kn.nn.LSTM(2, { inputs: 4, bidirectional: true })).call(x)[0],
  'states to begin with': (x, to) => {
    const layer = to(new kn.nn.GRU(2, { inputs: 4 }));
    return layer.call(x, { states: layer.beginState(2) })[0];
  },
  'the states of a cell': (x, to) => {
    const cell = to(new kn.nn.LSTMCell(2, { inputs: 4 }));
    return cell.call(x.slice(':', 0), cell.beginState(2))[0];
  },
  'a block of the user': (x, to) => {
    class Positions extends kn.nn.Block {
      override forward(given: kn.NDArray): kn.NDArray {
        return given.add(kn.arange(4)).mul(kn.random.uniform([3, 4]));
      }
    }
    return to(new Positions()).call(x);
  },
  'a loss of sequences': (x) => kn.nn.loss.ctc(x, kn.array([[1], [2]], { dtype: 'int32' }).to(x.device), { inputLengths: [3, 2] }),
  'a loop of no iterations': (x) => {
    const [rows, sum] = kn.foreach((row, s: kn.NDArray) => [row.mul(2), s.add(row)], x.slice([0, 0]), x.slice(0));
    return kn.concat([rows, sum.expandDims(0), x]);
  },
  'the place of an array in captured code': (x) => kn.hybridize((y: kn.NDArray) => y.add(kn.ones([4]).to(y.device)))(x),
}; // prettier-ignore

for (const [what, run] of Object.entries(makers)) {
  test(`${what}: on the device of what it is made for`, async () => {
    const result = (device: string): kn.NDArray => {
      kn.random.seed(5);
      const x = kn.random.normal([2, 3, 4]).to(device);
      return run(x, (net) => {
        net.initialize();
        if (device !== 'cpu') net.to(device);
        return net;
      });
    };
    const there = result('fake');
    assert.equal(there.device, 'fake');
    const [actual, expected] = [await there.data(), await result('cpu').data()];
    assert.equal(actual.length, expected.length);
    close([...actual].map(Number), [...expected].map(Number));
    assert.equal(kn.ones([1]).device, 'cpu');
  });
}

test('a padded loop whose test the host reads is padded on the device', async () => {
  const atOnce = new FakeBackend('at once', { answersAtOnce: true });
  registerDevice(atOnce);
  const [rows] = kn.whileLoop(
    (x) => x.less(20),
    (x) => [x, x.mul(3)],
    kn.array(2).to('at once'),
    { maxIterations: 5, padded: true },
  );
  assert.equal(rows.device, 'at once');
  assert.deepEqual([...(await rows.data())], [2, 6, 18, 0, 0]);
});
