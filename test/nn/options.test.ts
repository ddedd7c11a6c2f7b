import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { refuses } from '../front/support.js';

/* Options that there are not, and arguments that make no sense, are refused by the layer or loss they were given to. */

const { nn } = kn;
const loose = <T>(options: object): T => options as T;
const x = kn.ones([2, 3]);
const labels = kn.array([0, 2], { dtype: 'int32' });

type Make = (options: never) => unknown;

/** By name: a call, a misspelled option, and the option that it stands for. */
const calls: readonly (readonly [string, Make, string, string])[] = [
  ['Dense', (o) => new nn.Dense(2, o), 'activaton', 'activation'],
  ['Conv1d', (o) => new nn.Conv1d(2, 3, o), 'stride', 'strides'],
  ['Conv2d', (o) => new nn.Conv2d(2, 3, o), 'use_bias', 'useBias'],
  ['Conv3d', (o) => new nn.Conv3d(2, 3, o), 'dilatoin', 'dilation'],
  ['ConvTranspose2d', (o) => new nn.ConvTranspose2d(2, 3, o), 'output_padding', 'outputPadding'],
  ['MaxPool2d', (o) => new nn.MaxPool2d(2, o), 'stride', 'strides'],
  ['AvgPool2d', (o) => new nn.AvgPool2d(2, o), 'pading', 'padding'],
  ['BatchNorm', (o) => new nn.BatchNorm(o), 'momentun', 'momentum'],
  ['LayerNorm', (o) => new nn.LayerNorm(o), 'epsilom', 'epsilon'],
  ['RMSNorm', (o) => new nn.RMSNorm(o), 'Epsilon', 'epsilon'],
  ['GroupNorm', (o) => new nn.GroupNorm(2, o), 'epsilo', 'epsilon'],
  ['Embedding', (o) => new nn.Embedding(4, 2, o), 'weight_init', 'weightInit'],
  ['RNNCell', (o) => new nn.RNNCell(2, o), 'activaton', 'activation'],
  ['LSTMCell', (o) => new nn.LSTMCell(2, o), 'input', 'inputs'],
  ['GRUCell', (o) => new nn.GRUCell(2, o), 'input', 'inputs'],
  ['RNN', (o) => new nn.RNN(2, o), 'activaton', 'activation'],
  ['LSTM', (o) => new nn.LSTM(2, o), 'bidirectionel', 'bidirectional'],
  ['GRU', (o) => new nn.GRU(2, o), 'layer', 'layers'],
  ['StatefulLSTM', (o) => new nn.StatefulLSTM(2, o), 'layuot', 'layout'],
  ['StatefulGRU', (o) => new nn.StatefulGRU(2, o), 'input', 'inputs'],
  ['MultiHeadAttention', (o) => new nn.MultiHeadAttention(4, 2, o), 'use_bias', 'useBias'],
  ['TransformerEncoderLayer', (o) => new nn.TransformerEncoderLayer(4, 2, o), 'drop_out', 'dropout'],
  ['softmaxCrossEntropy', (o) => nn.loss.softmaxCrossEntropy(x, labels, o), 'ignore_index', 'ignoreIndex'],
  ['mse', (o) => nn.loss.mse(x, x, o), 'reducton', 'reduction'],
  ['l1', (o) => nn.loss.l1(x, x, o), 'reducton', 'reduction'],
  ['huber', (o) => nn.loss.huber(x, x, o), 'dleta', 'delta'],
  ['binaryCrossEntropy', (o) => nn.loss.binaryCrossEntropy(x, x, o), 'from_logits', 'fromLogits'],
  ['kl', (o) => nn.loss.kl(x, x, o), 'axes', 'axis'],
  ['ctc', (o) => nn.loss.ctc(kn.ones([1, 2, 3]), kn.array([[1]], { dtype: 'int32' }), o), 'input_lengths', 'inputLengths'],
  ['Loader', (o) => new kn.data.Loader(new kn.data.ArrayDataset(x), o), 'batch_size', 'batchSize'],
]; // prettier-ignore

for (const [op, make, wrong, right] of calls) {
  test(`${op} refuses ${wrong}`, () => {
    const error = refuses(() => make(loose({ [wrong]: 1 })), kn.ArgumentError, wrong);
    assert.equal(error.op, op);
    assert.equal(error.advice, `did you mean ${right}?`);
    for (const options of [null, 3, 'relu', [1]]) {
      assert.equal(refuses(() => make(options as never), kn.ArgumentError, 'options').op, op);
    }
  });
}

/** By name: what is wrong, and what the message says of it. */
const mistakes: readonly (readonly [string, string, () => unknown])[] = [
  ['Dense', 'units', () => new nn.Dense(0)],
  ['Dense', 'units', () => new nn.Dense('3' as never)],
  ['Dense', 'inputs', () => new nn.Dense(3, { inputs: -2 })],
  ['Dense', 'dtype', () => new nn.Dense(3, { dtype: 'int32' })],
  ['Dense', 'weightInit', () => new nn.Dense(3, { weightInit: 1 as never })],
  ['Dense', 'useBias', () => new nn.Dense(3, { useBias: 'no' as never })],
  ['Dense', 'activation', () => new nn.Dense(3, { activation: 4 as never })],
  ['Dropout', 'rate', () => new nn.Dropout(1.5)],
  ['Dropout', 'rate', () => new nn.Dropout(NaN)],
  ['Dropout', 'rate', () => new nn.Dropout('0.5' as never)],
  ['Conv2d', 'channels', () => new nn.Conv2d(NaN, 3)],
  ['Conv2d', 'kernelSize', () => new nn.Conv2d(2, 0)],
  ['Conv2d', 'kernelSize', () => new nn.Conv2d(2, [3, 3, 3])],
  ['Conv2d', 'padding', () => new nn.Conv2d(2, 3, { padding: -1 })],
  ['Conv2d', 'padding', () => new nn.Conv2d(2, 3, { padding: 'full' as never })],
  ['Conv2d', 'strides', () => new nn.Conv2d(2, 3, { strides: 0 })],
  ['Conv2d', 'groups', () => new nn.Conv2d(4, 3, { groups: 3 })],
  ['Conv2d', 'inputs', () => new nn.Conv2d(4, 3, { groups: 2, inputs: 3 })],
  ['ConvTranspose2d', 'outputPadding', () => new nn.ConvTranspose2d(4, 3, { outputPadding: -1 })],
  ['MaxPool2d', 'poolSize', () => new nn.MaxPool2d(0)],
  ['MaxPool2d', 'padding', () => new nn.MaxPool2d(3, { padding: 2 })],
  ['AdaptiveAvgPool2d', 'outputSize', () => new nn.AdaptiveAvgPool2d(0)],
  ['AdaptiveMaxPool2d', 'outputSize', () => new nn.AdaptiveMaxPool2d([2, 2, 2])],
  ['AvgPool2d', 'padding', () => new nn.AvgPool2d(2, { padding: [1, 2] })],
  ['maxPool', 'padding', () => kn.maxPool2d(kn.ones([1, 1, 4, 4]), 2, { padding: 2 })],
  ['avgPool', 'padding', () => kn.avgPool2d(kn.ones([1, 1, 4, 4]), 3, { padding: 2 })],
  ['maxPool', 'padding', () => kn.maxPool2d(kn.ones([1, 1, 4, 4]), 2, { padding: [[2, 0], [0, 0]] })],
  ['conv', 'padding', () => kn.conv2d(kn.ones([1, 1, 4, 4]), kn.ones([1, 1, 2, 2]), { padding: -1 })],
  ['BatchNorm', 'momentum', () => new nn.BatchNorm({ momentum: 1.5 })],
  ['BatchNorm', 'epsilon', () => new nn.BatchNorm({ epsilon: -1 })],
  ['BatchNorm', 'axis', () => new nn.BatchNorm({ axis: 0.5 })],
  ['GroupNorm', 'groups', () => new nn.GroupNorm(0)],
  ['InstanceNorm', 'affine', () => new nn.InstanceNorm({ affine: 1 as never })],
  ['Embedding', 'count', () => new nn.Embedding(-1, 2)],
  ['LSTM', 'size', () => new nn.LSTM(0)],
  ['LSTM', 'layout', () => new nn.LSTM(2, { layout: 'NCT' as never })],
  ['GRU', 'dropout', () => new nn.GRU(2, { dropout: -0.1 })],
  ['RNN', 'activation', () => new nn.RNN(2, { activation: 'tanhh' as never })],
  ['MultiHeadAttention', 'heads', () => new nn.MultiHeadAttention(4, 0)],
  ['TransformerEncoderLayer', 'heads', () => new nn.TransformerEncoderLayer(4, 3)],
  ['Sequential', 'layer 1', () => new nn.Sequential(new nn.Dense(2), 'rellu' as never)],
  ['Sequential', 'layer 0', () => new nn.Sequential([new nn.Dense(2)] as never)],
  ['mse', 'reduction', () => nn.loss.mse(x, x, { reduction: 'avg' as never })],
  ['mse', 'predictions', () => nn.loss.mse(null as never, x)],
  ['huber', 'delta', () => nn.loss.huber(x, x, { delta: -1 })],
  ['huber', 'delta', () => nn.loss.huber(x, x, { delta: 0 })],
  ['kl', 'axis', () => nn.loss.kl(x, x, { axis: 0.5 })],
  ['Loader', 'prefetch', () => new kn.data.Loader(new kn.data.ArrayDataset(x), { batchSize: 1, prefetch: -1 })],
  ['Loader', 'shuffle', () => new kn.data.Loader(new kn.data.ArrayDataset(x), { batchSize: 1, shuffle: 1 as never })],
  ['Loader', 'seed', () => new kn.data.Loader(new kn.data.ArrayDataset(x), { batchSize: 1, seed: 0.5 })],
  ['Loader', 'batchSize', () => new kn.data.Loader(new kn.data.ArrayDataset(x), {} as never)],
  ['Loader', 'dataset', () => new kn.data.Loader(null as never, { batchSize: 1 })],
]; // prettier-ignore

for (const [op, words, act] of mistakes) {
  test(`${op} says what is wrong with ${words}: ${String(act).slice(6, 70)}`, () => {
    const error = refuses(act, kn.KaonError, words);
    assert.equal(error.op?.toLowerCase(), op.toLowerCase(), error.message);
    assert.ok(error instanceof kn.ArgumentError || error instanceof kn.ShapeError);
  });
}

test('what PyTorch takes is taken', () => {
  assert.deepEqual(kn.conv2d(kn.ones([1, 1, 4, 4]), kn.ones([1, 1, 2, 2]), { padding: 5 }).shape, [1, 1, 13, 13]); // prettier-ignore
  assert.deepEqual(kn.maxPool2d(kn.ones([1, 1, 4, 4]), 2, { padding: 1 }).shape, [1, 1, 3, 3]);
  assert.deepEqual(new nn.MaxPool2d(3, { padding: 1 }).call(kn.ones([1, 1, 4, 4])).shape, [1, 1, 2, 2]); // prettier-ignore
});
