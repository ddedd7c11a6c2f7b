import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

const x = kn.linspace(-1, 1, 24).reshape([12, 2]);
const y = kn.linspace(3, -3, 12).reshape([12, 1]);

interface Run {
  readonly net: kn.nn.Sequential;
  readonly optimizer: kn.optim.Optimizer;
  readonly loader: kn.data.Loader<{ x: kn.NDArray; y: kn.NDArray }>;
}

function make(seed: number): Run {
  kn.random.seed(seed);
  const net = new kn.nn.Sequential(
    new kn.nn.Dense(5, { activation: 'tanh', inputs: 2 }),
    new kn.nn.Dropout(0.3),
    new kn.nn.Dense(1, { inputs: 5 }),
  )
    .initialize()
    .hybridize();
  const loader = new kn.data.Loader(new kn.data.ArrayDataset({ x, y }), {
    batchSize: 4,
    shuffle: true,
    seed,
  });
  return { net, optimizer: new kn.optim.Adam(net.parameters(), { learningRate: 0.05 }), loader };
}

/** Takes steps across epochs and returns their losses. */
async function train({ net, optimizer, loader }: Run, steps: number): Promise<number[]> {
  const losses: number[] = [];
  while (losses.length < steps) {
    for await (const batch of loader) {
      const loss = kn.autograd.record(() => kn.nn.loss.mse(net.call(batch.x), batch.y));
      loss.backward();
      optimizer.step();
      losses.push(Number(loss.item()));
      if (losses.length === steps) break;
    }
  }
  return losses;
}

test('a run that is interrupted and resumed is bit for bit the run that was not', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kaon-test-'));
  const path = join(folder, 'run.safetensors');
  const whole = await train(make(7), 11);
  const first = make(7);
  const before = await train(first, 5);
  await kn.saveCheckpoint(path, first);
  const second = make(99);
  await kn.loadCheckpoint(path, second);
  assert.deepEqual([...before, ...(await train(second, 6))], whole);
});

test('a checkpoint that lacks what is asked for is an error', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kaon-test-'));
  const path = join(folder, 'bare.safetensors');
  const { net, optimizer, loader } = make(1);
  await kn.saveCheckpoint(path, { net });
  await assert.rejects(
    kn.loadCheckpoint(path, { net, optimizer }),
    (error) => error instanceof kn.FormatError && /no optimizer/.test(error.message),
  );
  await assert.rejects(kn.loadCheckpoint(path, { net, loader }), kn.FormatError);
  await net.saveParameters(path);
  await assert.rejects(
    kn.loadCheckpoint(path, { net }),
    (error) => error instanceof kn.FormatError && /not a checkpoint/.test(error.message),
  );
  await writeFile(path, new Uint8Array(3));
  await assert.rejects(kn.loadCheckpoint(path, { net }), kn.FormatError);
});

test('a checkpoint of another optimizer is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kaon-test-'));
  const path = join(folder, 'adam.safetensors');
  const run = make(1);
  await kn.saveCheckpoint(path, run);
  const sgd = new kn.optim.SGD(run.net.parameters(), { learningRate: 1 });
  await assert.rejects(
    kn.loadCheckpoint(path, { net: run.net, optimizer: sgd }),
    (error) => error instanceof kn.FormatError && /another optimizer/.test(error.message),
  );
});

/** Two networks that are trained against each other. */
function adversaries(seed: number): {
  net: { readonly maker: kn.nn.Block; readonly judge: kn.nn.Block };
  optimizer: { readonly maker: kn.optim.Optimizer; readonly judge: kn.optim.Optimizer };
  step: () => number;
} {
  kn.random.seed(seed);
  const [maker, judge] = [new kn.nn.Dense(2, { inputs: 3 }), new kn.nn.Dense(1, { inputs: 2 })].map((each) => each.initialize()) as [kn.nn.Dense, kn.nn.Dense]; // prettier-ignore
  const optimizer = { maker: new kn.optim.Adam(maker.parameters(), { learningRate: 0.1 }), judge: new kn.optim.SGD(judge.parameters(), { learningRate: 0.1, momentum: 0.9 }) }; // prettier-ignore
  const step = (): number => {
    const noise = kn.random.normal([4, 3]);
    const judged = kn.autograd.record(() => judge.call(maker.call(noise).detach()).square().mean());
    judged.backward();
    optimizer.judge.step();
    const loss = kn.autograd.record(() => judge.call(maker.call(noise)).sub(1).square().mean());
    loss.backward();
    optimizer.maker.step();
    return Number(loss.item());
  };
  return { net: { maker, judge }, optimizer, step };
}

test('several networks and optimizers by name resume bit for bit', async () => {
  const whole = adversaries(5);
  const losses = Array.from({ length: 6 }, whole.step);
  const first = adversaries(5);
  for (let i = 0; i < 3; i++) first.step();
  const bytes = kn.encodeCheckpoint(first);
  const second = adversaries(77);
  kn.decodeCheckpoint(bytes, second);
  assert.deepEqual(Array.from({ length: 3 }, second.step), losses.slice(3));
});

test('nothing changes when one of several optimizers does not fit', () => {
  const first = adversaries(5);
  first.step();
  const bytes = kn.encodeCheckpoint(first);
  const other = adversaries(6);
  other.step();
  const { maker, judge } = other.optimizer;
  const before = kn.encodeCheckpoint(other);
  const refused: readonly (readonly [optimizer: kn.Checkpoint['optimizer'], says: RegExp])[] = [
    [{ maker: judge, judge: maker }, /another optimizer maker/],
    [{ maker, critic: judge }, /no optimizer critic.*optimizers maker, judge/s],
    [maker, /no optimizer/],
    [{ maker: new kn.optim.Adam(other.net.judge.parameters(), { learningRate: 1 }), judge }, /weight/], // prettier-ignore
  ];
  for (const [optimizer, says] of refused) {
    const load = (): void => kn.decodeCheckpoint(bytes, { net: other.net, ...(optimizer !== undefined && { optimizer }) }); // prettier-ignore
    assert.throws(load, (error) => error instanceof kn.FormatError && says.test(error.message));
    assert.deepEqual(kn.encodeCheckpoint(other), before);
  }
  for (const net of [{}, { maker: 3 }, null]) {
    assert.throws(() => kn.encodeCheckpoint({ net } as never), /a block, or an object of such by name/); // prettier-ignore
  }
});
