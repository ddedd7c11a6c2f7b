import * as kn from '../../src/index.js';
import type { TrainingStep } from './steps.js';

const { autograd, nn, optim } = kn;

/** Rows of a batch: 8 devices divide them. */
const rows = 16;

type Loss = (x: kn.NDArray) => kn.NDArray;

/** A step of SGD on a network, with one batch. */
function stepOf(net: kn.nn.HybridBlock, x: kn.NDArray, loss: Loss): TrainingStep {
  net.initialize();
  loss(x);
  const optimizer = new optim.SGD(net.parameters(), { learningRate: 0.1 });
  const step = kn.hybridize((batch: Readonly<Record<string, kn.NDArray>>) => {
    const result = autograd.record(() => loss(batch['x']));
    result.backward();
    optimizer.step();
    return result;
  });
  return { step, batches: [{ x }] };
}

/** A step on a layer that is called with one array, whose result is squared. */
function onLayer(
  net: kn.nn.HybridBlock & { call(x: kn.NDArray): kn.NDArray },
  x: kn.NDArray,
): TrainingStep {
  return stepOf(net, x, (input) => net.call(input).square().mean());
}

const normal = (...shape: readonly number[]): kn.NDArray => kn.random.normal([rows, ...shape]).computed(); // prettier-ignore
const numbers = (...shape: readonly number[]): kn.NDArray => kn.random.randint(0, 8, [rows, ...shape]).computed(); // prettier-ignore

/** A network of a dense layer and a loss with labels of its rows. */
function onLoss(loss: (y: kn.NDArray, labels: kn.NDArray) => kn.NDArray): TrainingStep {
  const net = new nn.Dense(8);
  const labels = kn.arange(8, { dtype: 'int32' });
  return stepOf(net, normal(8), (x) => {
    const classes = x.greater(0).mul(labels).max(1).astype('int32');
    return loss(net.call(x), classes).mean();
  });
}

/** Steps of single layers by name. */
export const layerSteps: Readonly<Record<string, () => TrainingStep>> = {
  Dense: () => onLayer(new nn.Dense(8), normal(8)),
  Conv2d: () => onLayer(new nn.Conv2d(8, 3, { padding: 1 }), normal(8, 6, 6)),
  BatchNorm: () => onLayer(new nn.BatchNorm(), normal(8, 4)),
  LayerNorm: () => onLayer(new nn.LayerNorm(), normal(8)),
  Embedding: () => onLayer(new nn.Embedding(8, 8), numbers(3)),
  LSTM: () => {
    const net = new nn.LSTM(8);
    return stepOf(net, normal(5, 8), (x) => net.call(x)[0].square().mean());
  },
  GRU: () => {
    const net = new nn.GRU(8);
    return stepOf(net, normal(5, 8), (x) => net.call(x)[0].square().mean());
  },
  MultiHeadAttention: () => {
    const net = new nn.MultiHeadAttention(8, 2);
    return stepOf(net, normal(4, 8), (x) => net.call(x).square().mean());
  },
  TransformerEncoderLayer: () => onLayer(new nn.TransformerEncoderLayer(8, 2), normal(4, 8)),
  softmaxCrossEntropy: () => onLoss((y, labels) => nn.loss.softmaxCrossEntropy(y, labels)),
  mse: () => onLoss((y, labels) => nn.loss.mse(y.max(1), labels.astype('float32'))),
};
