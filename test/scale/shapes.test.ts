import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { decodeSafetensors } from '../../src/formats/safetensors.js';
import { evaluateModule } from '../../src/formats/stablehlo/evaluate/evaluate.js';
import * as kn from '../../src/index.js';
import { readCheckpoint, writeJob } from '../../src/scale.js';
import { readJob, runPlainly } from './plain-run.js';
import { examples, folderFor, training } from './training.js';

test('parameters of shapes alone are drawn by the job as they would have been here', async (t) => {
  const folder = join(folderFor(t), 'job');
  const data = examples(8);
  kn.random.seed(21);
  const here = training(0.1);
  here.net.call(data.x);
  kn.random.seed(21);
  const { net, optimizer, step, evaluate } = training(0.1, { materialize: false });
  const started = kn.random.getState();
  await writeJob(folder, {
    step: step.graphFor(data),
    evaluate: evaluate.graphFor(data),
    data,
    evaluateData: data,
    batch: 8,
    steps: 3,
    rules: [['weight', 'fsdp']],
  });
  assert.deepEqual(kn.random.getState(), started);
  const { programs, state } = readJob(folder);
  const names = [...net.parameters().keys()].flatMap((name) => [name, `${name}/mean`, `${name}/variance`]); // prettier-ignore
  const { tensors } = decodeSafetensors(readFileSync(join(folder, state!)));
  assert.deepEqual([...tensors.keys()].sort(), ['learning_rate', 'random', 'steps', 'updates']);
  assert.deepEqual(programs.init!.meta.outputs.map(({ name }) => name).sort(), [...names].sort());
  assert.deepEqual(programs.init!.meta.inputs.map(({ name, kind }) => [name, kind]), [['random', 'random']]); // prettier-ignore
  const drawn = evaluateModule(readFileSync(join(folder, 'init.mlir'), 'utf8'), [tensors.get('random')!]); // prettier-ignore
  programs.init!.meta.outputs.forEach(({ name, shape }, k) => {
    const parameter = here.net.parameters().get(name.replace(/\/.*/, ''))!;
    assert.deepEqual(drawn[k].shape, shape);
    const expected = name.includes('/') ? parameter.value.mul(0) : parameter.value;
    const values = expected.dataSync() as Float32Array;
    values.forEach((value, i) => assert.ok(Math.abs(Number(drawn[k].data[i]) - value) <= 1e-6, name)); // prettier-ignore
  });

  // Trained elsewhere, and then here for the first time with elements.
  const losses = runPlainly(folder);
  await readCheckpoint(folder, { net, optimizer });
  assert.equal(optimizer.steps, 3);
  const next = Number(step(data).loss.item());
  assert.ok(Number.isFinite(next) && next < losses[0].loss, `${next} after ${losses[0].loss}`);
});

test('elements that were never made are an error that says what to do', async () => {
  kn.random.seed(4);
  const { net, step } = training(0.1, { materialize: false });
  const data = examples(8);
  step.graphFor(data);
  const weight = net.parameters().get('layers.0.weight')!;
  assert.deepEqual(weight.shape, [8, 5]);
  assert.deepEqual(weight.value.shape, [8, 5]);
  const advises = (error: unknown): boolean =>
    error instanceof kn.ArgumentError && /initialize\(\)/.test(error.advice ?? '');
  assert.throws(() => weight.value.dataSync(), advises);
  assert.throws(() => weight.value.tolist(), advises);
  assert.throws(() => weight.value.add(1), advises);
  assert.throws(() => net.call(data.x), advises);
  assert.throws(() => step(data), advises);
  assert.throws(() => net.toSafetensors(), advises);
  await assert.rejects(weight.value.data(), advises);

  // The values are those that were reserved.
  net.initialize();
  kn.random.seed(4);
  const other = training(0.1);
  other.net.call(data.x);
  for (const [name, { value }] of net.parameters()) {
    assert.deepEqual(value.dataSync(), other.net.parameters().get(name)!.value.dataSync(), name);
  }
});

test('initialize without elements leaves those that there are, and takes them with force', () => {
  const net = new kn.nn.Dense(2, { inputs: 3 }).initialize();
  const { value } = net.weight;
  const before = value.tolist();
  net.initialize({ materialize: false });
  assert.deepEqual(value.tolist(), before);
  net.initialize({ materialize: false, force: true });
  assert.throws(() => value.tolist(), kn.ArgumentError);
  value.assign(kn.ones([2, 3]));
  assert.deepEqual(net.weight.value.tolist(), [[1, 1, 1], [1, 1, 1]]); // prettier-ignore
});

test('an init of its own has to return whatever has no elements', async (t) => {
  const { step } = training(0.1, { materialize: false });
  const data = examples(8);
  const init = kn.hybridize(() => ({ 'layers.2.weight': kn.random.normal([3, 8]) })).graphFor();
  await assert.rejects(
    writeJob(join(folderFor(t), 'job'), { step: step.graphFor(data), init, data, batch: 8, steps: 1 }), // prettier-ignore
    /init does not return layers\.0\.weight/,
  );
});

test('a model of ten gigabytes is captured without its memory', async (t) => {
  const folder = join(folderFor(t), 'job');
  const [layers, width] = [40, 8192];
  const net = new kn.nn.Sequential(
    ...Array.from({ length: layers }, () => new kn.nn.Dense(width, { activation: 'relu' })),
  ).initialize({ materialize: false });
  const optimizer = new kn.optim.SGD(net.parameters(), { learningRate: 0.1, momentum: 0.9 });
  const step = kn.hybridize(({ x }: { readonly x: kn.NDArray }) => {
    const loss = kn.autograd.record(() => net.call(x).square().mean());
    loss.backward();
    optimizer.step();
    return { loss };
  });
  const x = kn.zeros([8, width]);
  const before = process.memoryUsage().rss;
  await writeJob(folder, {
    step: step.graphFor({ x }),
    data: { x },
    batch: 8,
    steps: 1,
    mesh: { data: 8 },
    rules: [['weight', 'fsdp']],
  });
  const elements = [...net.parameters().values()].reduce((sum, { value }) => sum + value.size, 0);
  assert.ok(4 * elements > 10e9);
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 400e6, `${(grown / 1e6).toFixed(0)} MB`);
  assert.equal(readJob(folder).programs.init!.meta.outputs.length, 4 * layers);
});

test('a step that was captured by shapes alone runs once its network has elements', () => {
  const data = examples(8);
  const run = (isCapturedBefore: boolean): readonly number[] => {
    kn.random.seed(5);
    const { net, step } = training(0.1, { materialize: false });
    if (isCapturedBefore) step.graphFor(data);
    net.initialize();
    return [0, 1, 2].map(() => Number(step(data).loss.item()));
  };
  const [captured, plain] = [run(true), run(false)];
  captured.forEach((loss, k) => assert.ok(Math.abs(loss - plain[k]) <= 1e-6, `${loss}, not ${plain[k]}`)); // prettier-ignore
});
