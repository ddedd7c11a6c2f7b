import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { near } from '../front/support.js';
import { refused, refusedLater } from './refusals.js';

/* Optimizers, loaders and checkpoints: "Layers, training, data" and "Blocks" of the public contract, line by line. */

const { autograd, nn, optim } = kn;

const optimizers = {
  'SGD': (net, learningRate) => new optim.SGD(net.parameters(), { learningRate, momentum: 0.9, weightDecay: 0.01 }),
  'Adam': (net, learningRate) => new optim.Adam(net.parameters(), { learningRate }),
  'AdamW': (net, learningRate) => new optim.AdamW(net.parameters(), { learningRate, weightDecay: 0.01 }),
  'RMSProp': (net, learningRate) => new optim.RMSProp(net.parameters(), { learningRate }),
  'Adagrad': (net, learningRate) => new optim.Adagrad(net.parameters(), { learningRate }),
  'Lion': (net, learningRate) => new optim.Lion(net.parameters(), { learningRate }),
} satisfies Record<string, (net: kn.nn.Block, learningRate: kn.optim.LearningRate) => kn.optim.Optimizer>; // prettier-ignore

const rows = 10;
const x = kn.linspace(-1, 1, rows * 2).reshape([rows, 2]);
const y = kn.linspace(2, -2, rows).reshape([rows, 1]);

interface Run {
  readonly net: kn.nn.Sequential;
  readonly optimizer: kn.optim.Optimizer;
  readonly loader: kn.data.Loader<{ x: kn.NDArray; y: kn.NDArray }>;
}

/** How a step is taken: in eager code, with a captured network, or captured from forward to update. */
const ways = ['eager', 'captured network', 'captured step'] as const;

function prepare(kind: keyof typeof optimizers, way: (typeof ways)[number], seed: number): Run & { step: (batch: { x: kn.NDArray; y: kn.NDArray }) => kn.NDArray } {
  kn.random.seed(seed);
  const net = new nn.Sequential(
    new nn.Dense(4, { activation: 'tanh', inputs: 2 }),
    // Of the two rows of a last batch, divisions by less would make a thousand roundings of one.
    new nn.BatchNorm({ axis: -1, epsilon: 0.1 }),
    new nn.Dropout(0.25),
    new nn.Dense(1, { inputs: 4 }),
  ).initialize();
  net.call(x.slice([0, 1]));
  if (way === 'captured network') net.hybridize();
  const optimizer = optimizers[kind](net, 0.02);
  const loader = new kn.data.Loader(new kn.data.ArrayDataset({ x, y }), { batchSize: 4, shuffle: true, seed });
  const step = (batch: { x: kn.NDArray; y: kn.NDArray }): kn.NDArray => {
    const loss = autograd.record(() => nn.loss.mse(net.call(batch.x), batch.y));
    loss.backward();
    optimizer.step();
    return loss;
  };
  return { net, optimizer, loader, step: way === 'captured step' ? kn.hybridize(step) : step };
} // prettier-ignore

/** Trains across epochs, the last batch of each smaller, and returns every loss. */
async function train({ loader, step }: ReturnType<typeof prepare>, steps: number): Promise<unknown[]> {
  const losses: unknown[] = [];
  while (losses.length < steps) {
    for await (const batch of loader) {
      losses.push(step(batch).item());
      if (losses.length === steps) break;
    }
  }
  return losses;
} // prettier-ignore

const valuesOf = (net: kn.nn.Block): unknown[] =>
  [...net.parameters().values()].map(({ value }) => value.tolist());

for (const kind of Object.keys(optimizers) as (keyof typeof optimizers)[]) {
  test(`\`kn.optim.${kind}\` over \`net.parameters()\`, \`opt.step()\`: eager, captured network, captured step`, async () => {
    const results = [];
    for (const way of ways) {
      const run = prepare(kind, way, 4);
      results.push([await train(run, 5), valuesOf(run.net), run.optimizer.steps]);
    }
    near(results[1], results[0]);
    near(results[2], results[0]);
  });
}

for (const way of ways) {
  test(`Checkpoints hold parameters, optimizer and random state and loader position in one safetensors file, and resume bit-identically: ${way}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kaon-contract-'));
    try {
      const path = join(folder, 'run.safetensors');
      const whole = prepare('Adam', way, 7);
      const losses = await train(whole, 8);
      const first = prepare('Adam', way, 7);
      const before = await train(first, 4);
      await kn.saveCheckpoint(path, first);
      const second = prepare('Adam', way, 99);
      await train(second, 2);
      await kn.loadCheckpoint(path, second);
      assert.deepEqual([...before, ...(await train(second, 4))], losses);
      assert.deepEqual(valuesOf(second.net), valuesOf(whole.net));
      assert.deepEqual([second.optimizer.steps, second.loader.state()], [8, whole.loader.state()]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test(`\`opt.learningRate\` may be set at any time: ${way}`, () => {
    const w = new nn.Parameter({ shape: [1] });
    w.assign([10]);
    const optimizer = new optim.SGD(new Map([['w', w]]), { learningRate: 1 });
    const plain = (): void => {
      autograd.record(() => w.value.mul(2).sum()).backward();
      optimizer.step();
    };
    const step = way === 'captured step' ? kn.hybridize(plain) : plain;
    const seen = [1, 0.5, 0.5, 0.25, 0].map((rate) => {
      optimizer.learningRate = rate;
      step();
      return w.value.item();
    });
    near(seen, [8, 7, 6, 5.5, 5.5]);
    assert.equal(optimizer.learningRate, 0);
  });

  test(`learning-rate schedules count the steps: ${way}`, () => {
    const w = new nn.Parameter({ shape: [1] });
    w.assign([0]);
    const { warmup, stepDecay } = optim.schedule;
    const schedule = warmup(2, stepDecay(1, { every: 2, factor: 0.5 }));
    const optimizer = new optim.SGD(new Map([['w', w]]), { learningRate: schedule });
    const plain = (): void => {
      autograd.record(() => w.value.sum()).backward();
      optimizer.step();
    };
    const step = way === 'captured step' ? kn.hybridize(plain) : plain;
    let last = 0;
    const moves = [1, 2, 3, 4, 5, 6].map(() => {
      step();
      const move = last - Number(w.value.item());
      last -= move;
      return move;
    });
    near(moves, [0.5, 1, 1, 1, 0.5, 0.5], 1e-6);
  });

  test(`global-norm clipping: ${way}`, () => {
    const [a, b] = [new nn.Parameter({ shape: [1] }), new nn.Parameter({ shape: [2] })];
    a.assign([0]);
    b.assign([0, 0]);
    const parameters = new Map([['a', a], ['b', b]]);
    const plain = (scale: kn.NDArray): kn.NDArray => {
      autograd.record(() => a.value.mul(2).sum().add(b.value.mul([1, 2]).sum()).mul(scale)).backward();
      return optim.clipGlobalNorm(parameters, 1.5);
    };
    const clip = way === 'captured step' ? kn.hybridize(plain) : plain;
    for (const scale of [4, 0.25, 2]) {
      near(clip(kn.array(scale)).item(), 3 * scale);
      const factor = Math.min(1.5, 3 * scale) / 3;
      near([a.grad!.tolist(), b.grad!.tolist()], [[2 * factor], [factor, 2 * factor]], 1e-5);
    }
  }); // prettier-ignore
}

test('`new optim.SGD(net.parameters(), { learningRate, momentum, weightDecay })`: v = m v + g + d w, w -= rate v', () => {
  const w = new nn.Parameter({ shape: [], dtype: 'float64' });
  w.assign(2);
  const optimizer = new optim.SGD(new Map([['w', w]]), { learningRate: 0.1, momentum: 0.5, weightDecay: 0.25 }); // prettier-ignore
  let [plain, v] = [2, 0];
  for (let i = 0; i < 4; i++) {
    autograd.record(() => w.value.square()).backward();
    optimizer.step();
    v = 0.5 * v + 2 * plain + 0.25 * plain;
    plain -= 0.1 * v;
    near(w.value.item(), plain, 1e-7);
  }
});

test('an optimizer refuses parameters without gradients, and to train nothing', () => {
  const w = new nn.Parameter({ shape: [1], gradReq: 'null' });
  w.initialize();
  refused(() => new optim.SGD(new Map([['w', w]]), { learningRate: 1 }), { kind: kn.ArgumentError, op: 'SGD', says: 'nothing to train' }); // prettier-ignore
  const u = new nn.Parameter({ shape: [null] });
  const optimizer = new optim.Adam(new Map([['u', u]]), { learningRate: 1 });
  refused(() => optimizer.step(), { kind: kn.ArgumentError, op: 'Adam.step', says: 'no gradient', lacks: ['expected', 'actual'] }); // prettier-ignore
  assert.equal(optimizer.steps, 0);
  refused(() => optim.clipGlobalNorm(new Map([['u', u]]), 1), { kind: kn.ArgumentError, op: 'clipGlobalNorm', says: 'no parameter', lacks: ['expected', 'actual'] }); // prettier-ignore
  refused(() => optim.clipGlobalNorm(new Map([['u', u]]), 0), { kind: kn.ArgumentError, op: 'clipGlobalNorm', says: 'maxNorm' }); // prettier-ignore
});

test('a frozen parameter stays as it is', () => {
  const net = new nn.Dense(1, { inputs: 1 }).initialize();
  net.weight.assign([[3]]);
  net.bias = new nn.Parameter({ shape: [1], gradReq: 'null' });
  net.initialize();
  const optimizer = new optim.SGD(net.parameters(), { learningRate: 1 });
  autograd.record(() => net.call(kn.ones([1, 1])).sum()).backward();
  optimizer.step();
  assert.deepEqual([net.weight.value.tolist(), net.bias.value.tolist()], [[[2]], [0]]);
});

test('loadCheckpoint refuses what does not belong, and changes nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kaon-contract-'));
  try {
    const path = join(folder, 'run.safetensors');
    const run = prepare('Adam', 'eager', 1);
    await train(run, 2);
    await kn.saveCheckpoint(path, { net: run.net, optimizer: run.optimizer });
    const other = prepare('SGD', 'eager', 2);
    const arrays = [...other.net.parameters().values()].map(({ value }) => value);
    // A promise is rejected where no line of the test is on the stack.
    const refusal = { kind: kn.FormatError, op: 'loadCheckpoint', lacks: ['source'] } as const;
    await refusedLater(() => kn.loadCheckpoint(path, other), { ...refusal, says: /loader|optimizer/ }, arrays); // prettier-ignore
    await refusedLater(() => kn.loadCheckpoint(path, { net: other.net, optimizer: other.optimizer }), { ...refusal, says: 'another optimizer' }, arrays); // prettier-ignore
    const wider = new nn.Dense(9, { inputs: 9 }).initialize();
    await refusedLater(() => kn.loadCheckpoint(path, { net: wider }), { ...refusal, says: 'weight' }, [wider.weight.value]); // prettier-ignore
    await run.net.saveParameters(path);
    await refusedLater(() => kn.loadCheckpoint(path, { net: other.net }), { ...refusal, says: 'not a checkpoint' }, arrays); // prettier-ignore
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('`kn.data`: async-iterable loaders with seeded shuffle, batching, prefetch, `AbortSignal`, progress', async () => {
  const dataset = new kn.data.ArrayDataset({ i: kn.arange(7) });
  const epoch = async (options: Partial<kn.data.LoaderOptions<{ i: kn.NDArray }, { i: kn.NDArray }>>): Promise<unknown[]> => {
    const seen: unknown[] = [];
    for await (const { i } of new kn.data.Loader(dataset, { batchSize: 3, ...options })) seen.push(i.tolist());
    return seen;
  };
  assert.deepEqual(await epoch({}), [[0, 1, 2], [3, 4, 5], [6]]);
  assert.deepEqual(await epoch({ dropLast: true, prefetch: 4 }), [[0, 1, 2], [3, 4, 5]]);
  const shuffled = await epoch({ shuffle: true, seed: 5 });
  assert.deepEqual(await epoch({ shuffle: true, seed: 5, prefetch: 0 }), shuffled);
  assert.notDeepEqual(await epoch({ shuffle: true, seed: 6 }), shuffled);
  assert.deepEqual((shuffled.flat() as number[]).sort(), [0, 1, 2, 3, 4, 5, 6]);
  const seen: unknown[] = [];
  await epoch({ progress: ({ batch, batches }) => seen.push([batch, batches]) });
  assert.deepEqual(seen, [[1, 3], [2, 3], [3, 3]]);
  const reason = new Error('enough');
  await assert.rejects(epoch({ signal: AbortSignal.abort(reason) }), reason);
}); // prettier-ignore
