import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { near } from '../front/support.js';

/* "Layers, training, data" in the public contract: every layer and loss, eager, captured, and as a saved graph. */

const { autograd, nn } = kn;

type UnaryBlock = kn.nn.HybridBlock & { forward(x: kn.NDArray): kn.NDArray };

/** A layer and the shape of an input for it. */
const layers: Readonly<Record<string, readonly [() => UnaryBlock, readonly number[]]>> = {
  Sequential: [() => new nn.Sequential(new nn.Dense(3), 'relu', new nn.Dense(2)), [4, 3]],
  Dense: [() => new nn.Dense(4, { activation: 'tanh' }), [3, 2, 5]],
  Conv1d: [() => new nn.Conv1d(3, 3, { padding: 1 }), [2, 2, 6]],
  Conv2d: [() => new nn.Conv2d(4, [3, 2], { strides: 2, groups: 2 }), [2, 2, 7, 6]],
  Conv3d: [() => new nn.Conv3d(2, 2), [1, 2, 3, 4, 3]],
  ConvTranspose2d: [() => new nn.ConvTranspose2d(3, 3, { strides: 2 }), [2, 2, 3, 4]],
  MaxPool2d: [() => new nn.MaxPool2d(2), [2, 2, 4, 6]],
  AvgPool2d: [() => new nn.AvgPool2d(3, { strides: 1, padding: 1 }), [1, 2, 4, 5]],
  AdaptiveAvgPool2d: [() => new nn.AdaptiveAvgPool2d([3, 2]), [1, 2, 4, 6]],
  AdaptiveMaxPool2d: [() => new nn.AdaptiveMaxPool2d(3), [2, 1, 4, 7]],
  GlobalAvgPool2d: [() => new nn.GlobalAvgPool2d(), [2, 3, 4, 5]],
  BatchNorm: [() => new nn.BatchNorm(), [3, 2, 4, 2]],
  LayerNorm: [() => new nn.LayerNorm(), [3, 5]],
  RMSNorm: [() => new nn.RMSNorm(), [3, 5]],
  GroupNorm: [() => new nn.GroupNorm(2), [2, 4, 3]],
  InstanceNorm: [() => new nn.InstanceNorm(), [2, 3, 2, 4]],
  Dropout: [() => new nn.Dropout(0.3), [6, 5]],
  MultiHeadAttention: [() => new nn.MultiHeadAttention(4, 2), [2, 3, 4]],
  TransformerEncoderLayer: [() => new nn.TransformerEncoderLayer(4, 2), [2, 3, 4]],
};

/** Three training steps: outputs, gradients and everything that the layer keeps. */
function train(make: () => UnaryBlock, shape: readonly number[], options: kn.HybridizeOptions): unknown[] {
  kn.random.seed(12);
  const net = make().initialize();
  net.call(kn.ones(shape)); // finds the sizes
  net.hybridize(options);
  return [1, 2, 3].flatMap(() => {
    const x = kn.random.normal(shape);
    x.attachGrad();
    const y = autograd.record(() => net.call(x));
    y.backward(kn.random.normal(y.shape));
    const kept = [...net.parameters().values()].map(({ value, grad }) => [value.tolist(), grad?.tolist() ?? []]);
    return [y.tolist(), x.grad!.tolist(), kept];
  });
} // prettier-ignore

for (const [name, [make, shape]] of Object.entries(layers)) {
  test(`\`kn.nn\`: ${name} trains captured as it does eagerly`, () => {
    near(train(make, shape, {}), train(make, shape, { active: false }), 1e-4);
  });

  test(`\`kn.nn\`: the saved graph of ${name} computes what the layer computes`, () => {
    const net = make().initialize();
    const x = kn
      .linspace(
        -1,
        2,
        shape.reduce((a, b) => a * b, 1),
      )
      .reshape(shape);
    const y = net.call(x);
    const graph = kn.StaticGraph.fromJSON(JSON.stringify(net.graphFor(x)));
    near(Object.values(graph.run({ [graph.inputNames[0]]: x }))[0].tolist(), y.tolist(), 1e-5);
  });
}

const [predictions, targets] = [
  kn.array([[0.25, 0.75], [0.5, 0.125]]),
  kn.array([[0.5, 0.5], [1, 0]]),
]; // prettier-ignore

const flat = (f: (p: number, t: number) => number): number =>
  [[0.25, 0.5], [0.75, 0.5], [0.5, 1], [0.125, 0]].reduce((sum, [p, t]) => sum + f(p, t), 0); // prettier-ignore

/** Losses of predictions beside their formulas, as means over all elements or rows. */
const losses: Readonly<Record<string, readonly [(p: kn.NDArray) => kn.NDArray, number]>> = {
  mse: [(p) => nn.loss.mse(p, targets), flat((p, t) => (p - t) ** 2) / 4],
  l1: [(p) => nn.loss.l1(p, targets), flat((p, t) => Math.abs(p - t)) / 4],
  huber: [(p) => nn.loss.huber(p, targets), flat((p, t) => (p - t) ** 2 / 2) / 4],
  binaryCrossEntropy: [
    (p) => nn.loss.binaryCrossEntropy(p, targets),
    flat((p, t) => Math.log1p(Math.exp(p)) - t * p) / 4,
  ],
  softmaxCrossEntropy: [
    (p) => nn.loss.softmaxCrossEntropy(p, kn.array([1, 0], { dtype: 'int32' })),
    (Math.log(Math.exp(0.25) + Math.exp(0.75)) - 0.75 + Math.log(Math.exp(0.5) + Math.exp(0.125)) - 0.5) / 2,
  ],
  kl: [
    (p) => nn.loss.kl(p.log(), targets),
    (flat((p, t) => (t === 0 ? 0 : t * Math.log(t / p)))) / 2,
  ],
}; // prettier-ignore

for (const [name, [loss, expected]] of Object.entries(losses)) {
  test(`\`nn.loss.${name}\` of one batch, eager and captured, with gradients`, () => {
    const gradients = [loss, kn.hybridize(loss)].map((each) => {
      near(each(predictions).mean().item(), expected, 1e-5);
      return kn.grad(each)(predictions).tolist();
    });
    near(gradients[1], gradients[0], 1e-6);
    assert.ok((gradients[0] as number[][]).flat().some((g) => g !== 0));
  });
}
