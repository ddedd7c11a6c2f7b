import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { decodeSafetensors } from '../../src/formats/safetensors.js';
import * as kn from '../../src/index.js';
import { type WriteJobOptions, writeJob } from '../../src/scale.js';
import { readJob } from './plain-run.js';
import { examples, folderFor, rates, training } from './training.js';

kn.random.seed(2);
const { net, step, evaluate } = training(0.1);
const data = examples(16);
net.call(data.x);
const good: WriteJobOptions = { step: step.graphFor(data), data, batch: 16, steps: 4 };
const changing = training(rates);
changing.net.call(data.x);

const forward = kn.hybridize((batch: typeof data) => ({ y: net.call(batch.x).add(batch.y.reshape([-1, 1])) })); // prettier-ignore
const open = kn.hybridize(({ x }: typeof data) => ({ y: net.call(x) }), {
  dynamic: [['rows', null], ['rows']],
});
const drawn = (shape: readonly number[], name: string): kn.StaticGraph =>
  kn.hybridize(() => ({ [name]: kn.random.normal(shape) })).graphFor();

/** Options that are refused: the change, the class of the error, and words that its message has. */
const refused: readonly (readonly [
  change: Record<string, unknown>,
  type: new (...args: never[]) => kn.KaonError,
  words: RegExp,
])[] = [
  [{ rules: [['head\\.weight', 'fsdp']] }, kn.ArgumentError, /rule 0, head.*matches nothing/],
  [{ rules: [['weight', 'fsdp'], ['layers\\.0\\.weight', 'fsdp']] }, kn.ArgumentError, /earlier rule.*put the rule first/s], // prettier-ignore
  [{ rules: [['(', 'fsdp']] }, kn.ArgumentError, /regular expression of rule 0/],
  [{ rules: [['weight', 'all']] }, kn.ArgumentError, /partition of rule 0/],
  [{ rules: ['weight'] }, kn.ArgumentError, /rule 0/],
  [{ rules: [['layers\\.0\\.weight', ['model']]], mesh: { data: 2 } }, kn.ArgumentError, /no axis model/], // prettier-ignore
  [{ rules: [['layers\\.0\\.weight', ['model', 'model']]], mesh: { model: 1 } }, kn.ArgumentError, /two axes/], // prettier-ignore
  [{ rules: [['bias', ['model', null]]], mesh: { model: 1 } }, kn.ShapeError, /more axes than layers\.0\.bias/], // prettier-ignore
  [{ rules: [['layers\\.2\\.weight', ['model', null]]], mesh: { model: 2 } }, kn.ShapeError, /does not divide layers\.2\.weight.*multiple of 2.*3, axis 0/s], // prettier-ignore
  [{ rules: [['mean', 'fsdp']] }, kn.ArgumentError, /matches nothing/],
  [{ rules: [['weight', 'fsdp']], mesh: { model: 2 } }, kn.ArgumentError, /no axis data/],
  [{ mesh: { data: 3 } }, kn.ShapeError, /does not divide the batch/],
  [{ mesh: { data: 0 } }, kn.ArgumentError, /not a mesh/],
  [{ mesh: { 0: 4 } }, kn.ArgumentError, /not a mesh/],
  [{ mesh: {} }, kn.ArgumentError, /not a mesh/],
  [{ batch: 8 }, kn.ShapeError, /captured for another batch/],
  [{ batch: undefined }, kn.ArgumentError, /batch/],
  [{ steps: 0 }, kn.ArgumentError, /steps/],
  [{ seed: -1 }, kn.ArgumentError, /seed/],
  [{ step }, kn.ArgumentError, /step is not acceptable.*StaticGraph/s],
  [{ evaluate }, kn.ArgumentError, /evaluate is not acceptable/],
  [{ evaluate: open.graphFor(data) }, kn.UnsupportedError, /x has symbolic sizes.*\[rows, 5\].*leave `dynamic` out/s], // prettier-ignore
  [{ step: evaluate.graphFor(data) }, kn.ArgumentError, /changes no state/],
  [{ step: changing.step.graphFor(data) }, kn.ArgumentError, /learning_rate changes.*schedule/s],
  [{ schedule: { rate: [1, 1, 1, 1] } }, kn.ArgumentError, /no number of the step.*learning_rate/s],
  [{ schedule: { learning_rate: [1, 1] } }, kn.ArgumentError, /another length/],
  [{ schedule: { learning_rate: () => NaN } }, kn.ArgumentError, /learning_rate at step 0/],
  [{ data: { x: data.x } }, kn.ArgumentError, /no array y/],
  [{ data: { ...data, y: [1, 2] } }, kn.ArgumentError, /no array y.*arrays for x, y.*y: \[1, 2\]/s],
  [{ data: { ...data, z: data.x } }, kn.ArgumentError, /feeds z/],
  [{ data: { ...data, y: data.y.astype('int64') } }, kn.DTypeError, /another dtype for y/],
  [{ data: { ...data, x: kn.ones([16, 6]) } }, kn.ShapeError, /examples of x.*\[5\].*\[6\]/s],
  [{ data: { ...data, x: kn.ones([17, 5]) } }, kn.ShapeError, /first extent/],
  [{ data: examples(15) }, kn.ArgumentError, /smaller than a batch/],
  [{ data: { kind: 'parquet' } }, kn.ArgumentError, /needs files/],
  [{ data: { kind: 'module', module: 'reader' } }, kn.ArgumentError, /needs a module/],
  [{ data: { kind: 'npz', files: ['*.npz'], feeds: { z: 'z' } } }, kn.ArgumentError, /feeds z/],
  [{ batchAxes: { x: 1 } }, kn.ShapeError, /batches of different sizes/],
  [{ batchAxes: { y: 1 } }, kn.ShapeError, /no axis 1/],
  [{ batchAxes: { z: 0 } }, kn.ArgumentError, /z, which is no input/],
  [{ metrics: ['accuracy'] }, kn.ArgumentError, /no scalar accuracy/],
  [{ evaluate: evaluate.graphFor(data) }, kn.ArgumentError, /no evaluateData/],
  [{ evaluateEvery: 2 }, kn.ArgumentError, /no evaluate/],
  [{ evaluate: step.graphFor(data), evaluateData: data }, kn.ArgumentError, /evaluate changes/],
  [{ evaluate: forward.graphFor(data), evaluateData: { ...data, z: data.x } }, kn.ArgumentError, /evaluateData feeds z/], // prettier-ignore
  [{ checkpoint: { every: 0 } }, kn.ArgumentError, /every/],
  [{ init: drawn([3, 8], 'layers.1.weight') }, kn.ArgumentError, /no state of the step/],
  [{ init: drawn([8, 3], 'layers.2.weight') }, kn.ArgumentError, /another layers\.2\.weight/],
  [{ init: evaluate.graphFor(data) }, kn.ArgumentError, /init reads/],
  [{ stepz: 1 }, kn.ArgumentError, /stepz/],
];

test('options that do not fit are refused by name, before anything is written', async (t) => {
  const folder = join(folderFor(t), 'job');
  for (const [change, type, words] of refused) {
    const options = { ...good, ...change } as WriteJobOptions;
    await assert.rejects(writeJob(folder, options), (error) => {
      assert.ok(error instanceof type, `${JSON.stringify(Object.keys(change))}: ${String(error)}`);
      assert.match(error.message, words);
      assert.equal(error.op, 'writeJob');
      return true;
    });
  }
  assert.ok(!existsSync(folder));
});

test('a folder with a job is left alone', async (t) => {
  const folder = folderFor(t);
  await writeJob(folder, good);
  const before = readFileSync(join(folder, 'job.json'), 'utf8');
  await assert.rejects(writeJob(folder, { ...good, steps: 9 }), /there is a job/);
  assert.equal(readFileSync(join(folder, 'job.json'), 'utf8'), before);
});

test('a folder that cannot be made is an error', async (t) => {
  const file = join(folderFor(t), 'file');
  writeFileSync(file, '');
  await assert.rejects(writeJob(join(file, 'job'), good), kn.FormatError);
});

test('state is the values of now, under the names of the step, and init takes its part of it', async (t) => {
  const folder = join(folderFor(t), 'job');
  await writeJob(folder, { ...good, init: drawn([3, 8], 'layers.2.weight') });
  const { tensors } = decodeSafetensors(readFileSync(join(folder, 'state.safetensors')));
  const { programs, state } = readJob(folder);
  assert.equal(state, 'state.safetensors');
  const names = programs.step.meta.inputs.filter(({ kind }) => kind !== 'input').map(({ name }) => name); // prettier-ignore
  assert.deepEqual([...tensors.keys()].sort(), names.filter((name) => name !== 'layers.2.weight').sort()); // prettier-ignore
  const weight = tensors.get('layers.0.weight')!;
  assert.deepEqual(weight.data, net.parameters().get('layers.0.weight')!.value.dataSync());
  assert.deepEqual(tensors.get('learning_rate')!.data, Float32Array.of(0.1));
  assert.ok(programs.init!.meta.outputs.some(({ name }) => name === 'layers.2.weight'));
});

test('a dataset is stored example by example, time-first inputs with their examples first', async (t) => {
  const folder = join(folderFor(t), 'job');
  const w = new kn.nn.Parameter({ shape: [], init: kn.nn.initializer.ones });
  w.initialize();
  const optimizer = new kn.optim.SGD(new Map([['w', w]]), { learningRate: 0.1 });
  const timeFirst = kn.hybridize((batch: { readonly x: kn.NDArray }) => {
    const loss = kn.autograd.record(() => batch.x.mul(w.value).square().mean());
    loss.backward();
    optimizer.step();
    return { loss };
  });
  const x = kn.random.normal([6, 3]);
  const dataset = { length: 6, get: (index: number) => Promise.resolve({ x: x.slice(index) }) };
  await writeJob(folder, {
    step: timeFirst.graphFor({ x: kn.ones([3, 4]) }),
    data: dataset,
    batch: 4,
    batchAxes: { x: 1 },
    steps: 1,
  });
  const job = readJob(folder);
  assert.deepEqual(job.batchAxes, { x: 1 });
  const { tensors } = decodeSafetensors(readFileSync(join(folder, job.data.files[0])));
  assert.deepEqual(tensors.get('x')!.shape, [6, 3]);
  assert.deepEqual(tensors.get('x')!.data, x.dataSync());
});

test('data that lie elsewhere are named', async (t) => {
  const folder = join(folderFor(t), 'job');
  await writeJob(folder, { ...good, data: { kind: 'parquet', files: ['part-*.parquet'], feeds: { y: 'label' } } }); // prettier-ignore
  assert.deepEqual(readJob(folder).data, {
    kind: 'parquet',
    files: ['part-*.parquet'],
    feeds: { x: 'x', y: 'label' },
  });
});

test('the rules of a job are those that were given, whatever partition they name', async (t) => {
  const folder = join(folderFor(t), 'job');
  const rules = [
    ['layers\\.2\\.weight', 'replicated'],
    ['weight', 'fsdp'],
    ['layers\\.2\\.bias', []],
    ['bias', ['model']],
  ] as const;
  await writeJob(folder, { ...good, rules, mesh: { data: 2, model: 2 } });
  assert.deepEqual(readJob(folder).rules, rules);
});
