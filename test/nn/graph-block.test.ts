import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { fromOnnx, toOnnx } from '../../src/onnx.js';

/* A model that was read is trained, frozen and saved like the network that wrote it. */

const { autograd, nn } = kn;

function network(): kn.nn.Sequential {
  kn.random.seed(8);
  const net = new nn.Sequential(new nn.Dense(4, { activation: 'tanh' }), new nn.Dense(2));
  net.initialize();
  net.call(kn.ones([3, 5]));
  return net;
}

const x = kn.random.normal([3, 5]);

const copyOf = (net: kn.nn.Sequential): kn.StaticGraph => fromOnnx(toOnnx(net.graphFor(x)));

const values = (block: kn.nn.Block): unknown =>
  [...block.parameters()].map(([name, { value }]) => [name, value.tolist()]);

/** Steps of AdamW on the mean square, captured as a whole. */
function train(block: kn.nn.Block & { call(x: kn.NDArray): kn.NDArray }, steps: number): void {
  const optimizer = new kn.optim.AdamW(block.parameters(), { learningRate: 0.05 });
  const step = kn.hybridize((a: kn.NDArray) => {
    autograd.record(() => block.call(a).square().mean()).backward();
    optimizer.step();
  });
  for (let i = 0; i < steps; i++) step(x);
}

test('a model that was read is trained like the network that wrote it', () => {
  const net = network();
  const block = new nn.GraphBlock(copyOf(net));
  assert.deepEqual(values(block), values(net));
  train(net, 5);
  train(block, 5);
  assert.deepEqual(values(block), values(net));
  assert.notDeepEqual(values(net), values(network()));
  // The graph has the trained parameters.
  assert.deepEqual(
    Object.values(block.graph.run({ [block.graph.inputNames[0]]: x }))[0].tolist(),
    net.call(x).tolist(),
  );
});

test('as a part of a network it is adapted under a new head, hybridized, and saved', async () => {
  const build = (seed: number): kn.nn.Sequential => {
    const body = new nn.GraphBlock(copyOf(network()));
    kn.random.seed(seed);
    const net = new nn.Sequential(body, 'relu', new nn.Dense(1));
    net.initialize();
    net.call(x);
    return net;
  };
  const net = build(1).hybridize();
  const [body] = net.layers;
  for (const parameter of body.parameters().values()) parameter.gradReq = 'null';
  const before = values(body);
  train(net, 3);
  assert.deepEqual(values(body), before);
  for (const parameter of body.parameters().values()) parameter.gradReq = 'write';
  train(net, 3);
  assert.notDeepEqual(values(body), before);
  const other = build(2);
  assert.ok([...other.parameters().keys()].includes('layers.0.layers.1.bias'));
  other.fromSafetensors(net.toSafetensors());
  assert.deepEqual(other.call(x).tolist(), net.call(x).tolist());
});

test('the parameters of a graph are those of the network that it was captured from', () => {
  const net = network();
  const block = new nn.GraphBlock(net.graphFor(x));
  assert.deepEqual([...block.parameters().values()], [...net.parameters().values()]);
});

test('state that a graph writes has no gradient, and several outputs come by name', () => {
  const norm = new nn.BatchNorm();
  norm.initialize();
  norm.call(x);
  const graph = autograd.trainMode(() => norm.graphFor(x));
  const block = new nn.GraphBlock(graph);
  const frozen = [...block.parameters().values()].filter(({ gradReq }) => gradReq === 'null');
  assert.equal(frozen.length, 2);
  const before = norm.runningMean.value.tolist();
  block.call(x);
  assert.notDeepEqual(norm.runningMean.value.tolist(), before);

  const a = kn.array([1, 2]);
  const both = kn.deferredCompute(() => ({ twice: a.mul(2), sum: a.sum() }));
  const several = new nn.GraphBlock<Record<'twice' | 'sum', kn.NDArray>>(
    kn.exportGraph({ inputs: { a }, outputs: both }),
  );
  const { twice, sum } = several.call(kn.array([3, 4]));
  assert.deepEqual([twice.tolist(), sum.tolist()], [[6, 8], 7]);
});

test('wrong graphs, wrong inputs, and values that are to be drawn again are refused', () => {
  assert.throws(() => new nn.GraphBlock({} as never), { name: 'ArgumentError', op: 'GraphBlock' });
  const block = new nn.GraphBlock(copyOf(network()));
  assert.throws(() => block.call(), { name: 'ArgumentError', op: 'GraphBlock.call' });
  assert.throws(() => block.call(x, x), { name: 'ArgumentError', op: 'GraphBlock.call' });
  assert.throws(() => block.call(kn.ones([3, 6])), { name: 'ShapeError' });
  const before = values(block);
  block.initialize();
  assert.throws(() => block.initialize({ force: true }), {
    name: 'ArgumentError',
    message: /layers\.0\.weight has no initializer/,
  });
  assert.deepEqual(values(block), before);
});
