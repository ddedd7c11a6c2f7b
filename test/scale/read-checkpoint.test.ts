import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  decodeSafetensors,
  encodeSafetensors,
  type FileTensor,
} from '../../src/formats/safetensors.js';
import * as kn from '../../src/index.js';
import { readCheckpoint, writeJob } from '../../src/scale.js';
import { examples, folderFor, training } from './training.js';

test('what does not fit is an error, after which nothing has changed', async (t) => {
  const folder = join(folderFor(t), 'job');
  kn.random.seed(8);
  const { net, optimizer, step } = training(0.1);
  const data = examples(4);
  net.call(data.x);
  await writeJob(folder, { step: step.graphFor(data), data, batch: 4, steps: 1 });
  const before = JSON.stringify([...net.parameters().values()].map(({ value }) => value));
  const refuses = async (words: RegExp, target: object = { net, optimizer }): Promise<void> => {
    const state = kn.random.getState();
    await assert.rejects(readCheckpoint(folder, target as { net: kn.nn.Block }), (error) => {
      assert.ok(error instanceof kn.KaonError, String(error));
      assert.match(error.message, words);
      return true;
    });
    const after = JSON.stringify([...net.parameters().values()].map(({ value }) => value));
    assert.equal(after, before);
    assert.deepEqual(kn.random.getState(), state);
    assert.equal(optimizer.steps, 0);
  };
  await refuses(/no gathered state.*kaon-player gather/s);

  const final = join(folder, 'final.safetensors');
  const { tensors } = decodeSafetensors(readFileSync(join(folder, 'state.safetensors')));
  // Other values, so that a change would be seen.
  const changed = new Map([...tensors].map(([name, tensor]) => [name, { ...tensor, data: tensor.data.map(() => (tensor.dtype === 'int64' ? 1n : 1) as never) } as FileTensor])); // prettier-ignore
  const write = (change: (given: Map<string, FileTensor>) => void): void => {
    const given = new Map(changed);
    change(given);
    writeFileSync(final, encodeSafetensors({ tensors: given, metadata: new Map() }));
  };
  write((given) => given.delete('layers.2.bias'));
  await refuses(/another layers\.2\.bias than the job.*nothing/s);
  write((given) => given.set('layers.2.bias', changed.get('layers.0.bias')!));
  await refuses(/another layers\.2\.bias than the job.*\[3\].*\[8\]/s);
  write((given) => given.delete('layers.0.bias/mean'));
  await refuses(/another layers\.0\.bias\/mean/);
  write((given) => given);
  writeFileSync(final, readFileSync(final).subarray(0, -4));
  await refuses(/safetensors/);

  write((given) => given);
  const other = new kn.nn.Sequential(new kn.nn.Dense(8), new kn.nn.Dense(3)).initialize();
  await refuses(/layers\.1\.weight/, { net: other });
  const sgd = new kn.optim.SGD(net.parameters(), { learningRate: 1, momentum: 0.9 });
  await refuses(/momentum/, { net, optimizer: sgd });
  const part = new kn.optim.Adam(new Map([...net.parameters()].slice(1)), { learningRate: 1 });
  await refuses(/another number of parameters/, { net, optimizer: part });
  await refuses(/block/, { net: 1 });

  await readCheckpoint(folder, { net });
  assert.ok([...net.parameters().values()].every(({ value }) => value.dataSync().every((x) => x === 1))); // prettier-ignore
});

test('an optimizer that counts no updates gets the steps of the job', async (t) => {
  const folder = join(folderFor(t), 'job');
  const net = new kn.nn.Sequential(new kn.nn.Dense(2)).initialize();
  const optimizer = new kn.optim.SGD(net.parameters(), { learningRate: 0.1, momentum: 0.9 });
  const data = { x: kn.ones([4, 3]) };
  const step = kn.hybridize(({ x }: { x: kn.NDArray }) => {
    const loss = kn.autograd.record(() => kn.square(net.call(x)).mean());
    loss.backward();
    optimizer.step();
    return { loss };
  });
  net.call(data.x);
  await writeJob(folder, { step: step.graphFor(data), data, batch: 4, steps: 1 });
  const { tensors } = decodeSafetensors(readFileSync(join(folder, 'state.safetensors')));
  assert.equal(tensors.has('updates'), false);
  const steps: FileTensor = { dtype: 'int64', shape: [], data: BigInt64Array.of(7n) };
  const final = new Map(tensors).set('steps', steps);
  writeFileSync(join(folder, 'final.safetensors'), encodeSafetensors({ tensors: final, metadata: new Map() })); // prettier-ignore
  await readCheckpoint(folder, { net, optimizer });
  assert.equal(optimizer.steps, 7);
});

test('a description without programs, or of another version, is no job', async (t) => {
  const folder = folderFor(t);
  const { net } = training(0.1);
  for (const [text, message] of [
    ['{"version": 1}', /does not describe a step.*an object with version/s],
    ['{"version": 1, "programs": {}}', /does not describe a step/],
    ['{"version": 1, "programs": {"step": {"meta": {"inputs": 1}}}}', /does not describe a step/],
    ['{"version": 2}', /another version.*actual: {3}2/s],
    ['null', /another version/],
    ['{', /job\.json/],
  ] as const) {
    writeFileSync(join(folder, 'job.json'), text);
    await assert.rejects(readCheckpoint(folder, { net }), (error) => {
      assert.ok(error instanceof kn.FormatError, String(error));
      assert.match(error.message, message);
      return true;
    });
  }
});
