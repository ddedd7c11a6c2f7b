import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { followJob, readCheckpoint, writeJob } from '../../src/scale.js';
import { batchesOf, readJob, runPlainly } from './plain-run.js';
import { examples, folderFor, rates, rowsOf, training } from './training.js';

const numbersOf = (array: kn.NDArray): number[] => kn.reshape(array, [-1]).astype('float64').tolist() as number[]; // prettier-ignore

function assertNear(found: readonly number[], expected: readonly number[], name: string): void {
  assert.equal(found.length, expected.length, name);
  found.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) <= 1e-5, `${name}: ${value} is not ${expected[i]}`)); // prettier-ignore
}

test('a job gives the losses and the state of a run here, and its end is read back', async (t) => {
  const folder = join(folderFor(t), 'job');
  kn.random.seed(11);
  const { net, optimizer, step, evaluate } = training();
  const data = examples(22);
  const held = examples(8);
  const first = rowsOf(data, [0, 1, 2, 3, 4, 5, 6, 7]);
  net.call(first.x);
  await writeJob(folder, {
    step: step.graphFor(first),
    evaluate: evaluate.graphFor(held),
    data,
    evaluateData: held,
    evaluateEvery: 2,
    batch: 8,
    steps: 5,
    mesh: { data: 4, model: 2 },
    rules: [
      ['0\\.weight', ['model', null]],
      ['weight', 'fsdp'],
    ],
    schedule: { learning_rate: rates },
    seed: 3,
  });
  const state = kn.random.getState();
  runPlainly(folder);

  // Two epochs of two batches each, and one more: 6 examples of 22 are dropped from each.
  const evaluated: number[] = [];
  const own = batchesOf(3, 22, 8, 5).map((rows, k) => {
    const loss = Number(step(rowsOf(data, rows)).loss.item());
    if (k % 2 === 1) evaluated.push(Number(evaluate(held).loss.item()));
    return loss;
  });
  const entries = [];
  for await (const entry of followJob(folder)) entries.push(entry);
  const losses = entries.filter(({ kind }) => kind === 'step').map(({ metrics }) => metrics.loss);
  assertNear(losses, own, 'losses');
  const evaluations = entries.filter(({ kind }) => kind === 'evaluate');
  assert.deepEqual(evaluations.map((entry) => entry.step), [2, 4]); // prettier-ignore
  assertNear(evaluations.map(({ metrics }) => metrics.loss), evaluated, 'evaluations'); // prettier-ignore

  const after = kn.random.getState();
  kn.random.seed(99);
  const again = training();
  await readCheckpoint(folder, again);
  assert.deepEqual(kn.random.getState(), after);
  assert.notDeepEqual(after, state);
  assert.equal(again.optimizer.steps, 5);
  for (const [name, parameter] of net.parameters()) {
    assertNear(numbersOf(again.net.parameters().get(name)!.value), numbersOf(parameter.value), name); // prettier-ignore
  }
  const slots = optimizer.state().arrays;
  for (const [name, slot] of again.optimizer.state().arrays) assertNear(numbersOf(slot), numbersOf(slots.get(name)!), name); // prettier-ignore
  // Training goes on as it would have.
  const next = rowsOf(data, [8, 9, 10, 11, 12, 13, 14, 15]);
  kn.random.setState(after);
  const one = Number(step(next).loss.item());
  kn.random.setState(after);
  assertNear([Number(again.step(next).loss.item())], [one], 'the next loss');
});

test('a folder says everything that a player has to know', async (t) => {
  const folder = join(folderFor(t), 'job');
  kn.random.seed(5);
  const { net, step } = training(0.1);
  const data = examples(16);
  net.call(data.x);
  await writeJob(folder, { step: step.graphFor(data), data, batch: 16, steps: 3 });
  const { programs, ...job } = readJob(folder);
  assert.deepEqual(job, {
    version: 1,
    state: 'state.safetensors',
    data: {
      kind: 'safetensors',
      files: ['data/00000.safetensors'],
      feeds: { x: 'x', y: 'y' },
    },
    batch: 16,
    batchAxes: { x: 0, y: 0 },
    steps: 3,
    rules: [],
    checkpoint: { every: 1000, keep: 3 },
    seed: 0,
    metrics: ['loss'],
  });
  assert.deepEqual(Object.keys(programs), ['step']);
  const names = programs.step.meta.inputs.map(({ name }) => name);
  for (const name of ['layers.0.weight', 'layers.0.weight/mean', 'learning_rate', 'random', 'steps']) assert.ok(names.includes(name), names.join(', ')); // prettier-ignore
});

test('a job trains a recurrent layer with lengths as a run here does', async (t) => {
  const folder = join(folderFor(t), 'job');
  kn.random.seed(4);
  const lstm = new kn.nn.LSTM(4, { inputs: 2, bidirectional: true }).initialize();
  const optimizer = new kn.optim.SGD(lstm.parameters(), { learningRate: 0.1, momentum: 0.9 });
  const step = kn.hybridize(({ x, lengths }: Record<'x' | 'lengths', kn.NDArray>) => {
    const loss = kn.autograd.record(() => lstm.call(x, { lengths })[0].sub(1).square().mean());
    loss.backward();
    optimizer.step();
    return { loss };
  });
  const data = {
    x: kn.random.normal([8, 5, 2]),
    lengths: kn.random.randint(0, 6, [8], { dtype: 'int32' }),
  };
  const batch = (rows: readonly number[]): typeof data => ({
    x: kn.take(data.x, rows, { axis: 0 }),
    lengths: kn.take(data.lengths, rows, { axis: 0 }),
  });
  await writeJob(folder, { step: step.graphFor(batch([0, 1, 2, 3])), data, batch: 4, steps: 3, seed: 2 }); // prettier-ignore
  runPlainly(folder);
  const losses: number[] = [];
  for await (const { kind, metrics } of followJob(folder)) if (kind === 'step') losses.push(metrics.loss); // prettier-ignore
  const own = batchesOf(2, 8, 4, 3).map((rows) => Number(step(batch(rows)).loss.item()));
  assertNear(losses, own, 'losses');
  const trained = new Map(
    [...lstm.parameters()].map(([name, { value }]) => [name, numbersOf(value)]),
  );
  await readCheckpoint(folder, { net: lstm, optimizer });
  for (const [name, { value }] of lstm.parameters()) assertNear(numbersOf(value), trained.get(name)!, name); // prettier-ignore
});
