import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { encodeSafetensors } from '../../src/formats/safetensors.js';
import { refuses } from '../front/support.js';

/* Every mistake says who refused, what was expected, and what came. */

const { nn } = kn;

type Kind = abstract new (...args: never[]) => kn.KaonError;

const bytesWith = (metadata: string): Uint8Array =>
  encodeSafetensors({ tensors: new Map(), metadata: new Map([['kaon.checkpoint', metadata]]) });

const dense = (): kn.nn.Dense => new nn.Dense(2, { inputs: 3 }).initialize();

const checkpoint = (): Uint8Array => kn.encodeCheckpoint({ net: dense() });

const loader = (): kn.data.Loader<kn.NDArray> =>
  new kn.data.Loader(new kn.data.ArrayDataset(kn.ones([4])), { batchSize: 2 });

const optimizer = (): kn.optim.Optimizer => new kn.optim.SGD(dense().parameters(), { learningRate: 1 }); // prettier-ignore

const inCapture = (act: () => unknown): unknown =>
  kn.hybridize((x: kn.NDArray) => {
    act();
    return x;
  })(kn.ones([1]));

const mistakes: readonly (readonly [string, Kind, string, () => unknown])[] = [
  ['Parameter', kn.ShapeError, '1.5', () => new nn.Parameter({ shape: [1.5] })],
  ['Parameter.value', kn.ArgumentError, '[?, 2]', () => new nn.Parameter({ shape: [null, 2] }).value],
  ['Parameter.resolveShape', kn.ShapeError, '[3, 3]', () => new nn.Parameter({ shape: [null, 2] }).resolveShape([3, 3])],
  ['Parameter.assign', kn.ArgumentError, '[?]', () => inCapture(() => new nn.Parameter({ shape: [null] }).assign([1]))],
  ['initializer.xavier', kn.ArgumentError, '[3]', () => nn.initializer.xavier([3], 'float32')],
  ['initializer.he', kn.ArgumentError, '[]', () => nn.initializer.he([], 'float32')],
  ['Dense', kn.ArgumentError, 'did you mean relu', () => new nn.Dense(2, { activation: 'rellu' as never })],
  ['Dense.call', kn.ArgumentError, '[2, ?]', () => new nn.Dense(2).call(kn.ones([1, 2]))],
  ['Dropout', kn.ArgumentError, '-1', () => new nn.Dropout(-1)],
  ['MultiHeadAttention', kn.ArgumentError, '5', () => new nn.MultiHeadAttention(5, 2)],
  ['StatefulLSTM', kn.ShapeError, 'rank 1', () => new nn.StatefulLSTM(2).initialize().call(kn.ones([2]))],
  ['fromSafetensors', kn.FormatError, 'no parameter gamma', () => new nn.LayerNorm().fromSafetensors(dense().toSafetensors())],
  ['fromSafetensors', kn.FormatError, 'float32[2, 3]', () => new nn.Dense(2, { inputs: 4 }).fromSafetensors(dense().toSafetensors())],
  ['decodeCheckpoint', kn.FormatError, 'not a checkpoint', () => kn.decodeCheckpoint(dense().toSafetensors(), { net: dense() })],
  ['decodeCheckpoint', kn.FormatError, 'not JSON', () => kn.decodeCheckpoint(bytesWith('{'), { net: dense() })],
  ['decodeCheckpoint', kn.FormatError, '7', () => kn.decodeCheckpoint(bytesWith('{"version":7}'), { net: dense() })],
  ['decodeCheckpoint', kn.FormatError, 'undefined', () => kn.decodeCheckpoint(bytesWith('null'), { net: dense() })],
  ['decodeCheckpoint', kn.FormatError, 'no loader', () => kn.decodeCheckpoint(checkpoint(), { net: dense(), loader: loader() })],
  ['decodeCheckpoint', kn.FormatError, 'no optimizer', () => kn.decodeCheckpoint(checkpoint(), { net: dense(), optimizer: optimizer() })],
  ['Loader', kn.ArgumentError, '0', () => new kn.data.Loader(new kn.data.ArrayDataset(kn.ones([1])), { batchSize: 0 })],
  ['Loader.loadState', kn.FormatError, 'batch 9', () => loader().loadState({ seed: 0, epoch: 0, batch: 9 })],
  ['ArrayDataset', kn.ShapeError, '[2] and [3]', () => new kn.data.ArrayDataset([kn.ones([2]), kn.ones([3])])],
  ['mse', kn.ShapeError, '[3]', () => nn.loss.mse(kn.ones([2]), kn.ones([3]))],
  ['softmaxCrossEntropy', kn.ArgumentError, '2', () => nn.loss.softmaxCrossEntropy(kn.ones([1, 2]), kn.array([0], { dtype: 'int32' }), { labelSmoothing: 2 })],
]; // prettier-ignore

for (const [op, Kind, words, act] of mistakes) {
  test(`${op} says so: ${words}`, () => {
    const error = refuses(act, Kind, words);
    assert.equal(error.op, op);
    assert.ok(error.expected !== undefined && error.actual !== undefined, error.message);
    assert.match(error.source ?? '', /test\/nn\/errors\.test/);
  });
}

test('files that cannot be read or written name the function that was called', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kaon-test-'));
  const missing = join(folder, 'no', 'file');
  const foreign = join(folder, 'foreign');
  await writeFile(foreign, dense().toSafetensors());
  const net = new nn.Dense(2, { inputs: 4 }).initialize();
  const acts: Readonly<Record<string, readonly (() => Promise<unknown>)[]>> = {
    loadParameters: [() => net.loadParameters(missing), () => net.loadParameters(foreign)],
    saveParameters: [() => net.saveParameters(missing)],
    loadCheckpoint: [() => kn.loadCheckpoint(missing, { net }), () => kn.loadCheckpoint(foreign, { net })], // prettier-ignore
    saveCheckpoint: [() => kn.saveCheckpoint(missing, { net })],
  };
  try {
    for (const [op, each] of Object.entries(acts)) {
      for (const act of each) {
        await assert.rejects(act(), (error) => {
          assert.ok(error instanceof kn.FormatError);
          assert.equal(error.op, op);
          return error.expected !== undefined && error.actual !== undefined;
        });
      }
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
