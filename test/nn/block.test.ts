import assert from 'node:assert/strict';
import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as kn from '../../src/index.js';

class Net extends kn.nn.HybridBlock {
  body: kn.nn.Sequential = new kn.nn.Sequential(
    new kn.nn.Dense(4, { activation: 'tanh' }),
    new kn.nn.BatchNorm({ axis: -1 }),
  );
  head: kn.nn.Dense = new kn.nn.Dense(2);

  override forward(x: kn.NDArray): kn.NDArray {
    return this.head.call(this.body.call(x));
  }
}

const input = (): kn.NDArray => {
  kn.random.seed(11);
  return kn.random.normal([5, 3]);
};

test('parameters are found by dotted path, and sizes by the first call', () => {
  const net = new Net().initialize();
  assert.deepEqual([...net.parameters().keys()], [
    'body.layers.0.weight', 'body.layers.0.bias', 'body.layers.1.gamma', 'body.layers.1.beta',
    'body.layers.1.runningMean', 'body.layers.1.runningVariance', 'head.weight', 'head.bias',
  ]); // prettier-ignore
  assert.deepEqual(net.parameters().get('body.layers.0.weight')!.shape, [4, null]);
  net.call(input());
  assert.deepEqual(net.parameters().get('body.layers.0.weight')!.shape, [4, 3]);
});

test('sizes are also found when the first call is captured', () => {
  kn.random.seed(1);
  const net = new Net().initialize().hybridize();
  const y = net.call(input());
  kn.random.seed(1);
  const eager = new Net().initialize();
  assert.deepEqual(y.tolist(), eager.call(input()).tolist());
});

test('a parameter that two blocks share appears once and gets both gradients', () => {
  class Tied extends kn.nn.HybridBlock {
    first: kn.nn.Dense = new kn.nn.Dense(3, { useBias: false, inputs: 3 });
    second: kn.nn.Dense = new kn.nn.Dense(3, { useBias: false, inputs: 3 });
    override forward(x: kn.NDArray): kn.NDArray {
      return this.second.call(this.first.call(x));
    }
  }
  const net = new Tied();
  net.second.weight = net.first.weight;
  net.initialize();
  assert.deepEqual([...net.parameters().keys()], ['first.weight']);
  net.first.weight.assign(kn.eye(3).mul(2));
  kn.autograd.record(() => net.call(kn.ones([1, 3])).sum()).backward();
  assert.deepEqual(net.first.weight.grad!.tolist(), [[4, 4, 4], [4, 4, 4], [4, 4, 4]]); // prettier-ignore
});

test('captured and eager blocks give equal outputs, gradients and statistics', () => {
  const results = [false, true].map((captured) => {
    kn.random.seed(3);
    const net = new Net().initialize();
    if (captured) net.hybridize();
    const x = input();
    const trace: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      const y = kn.autograd.record(() => net.call(x).square().sum());
      y.backward();
      trace.push(
        y.tolist(),
        ...[...net.parameters().values()].map(({ value, grad }) => [
          value.tolist(),
          grad?.tolist(),
        ]),
      );
    }
    return trace;
  });
  const numbers = (value: unknown): number[] =>
    Array.isArray(value) ? value.flatMap(numbers) : value === undefined ? [] : [Number(value)];
  const [eager, captured] = results.map(numbers);
  assert.equal(eager.length, captured.length);
  eager.forEach((value, i) =>
    assert.ok(
      Math.abs(value - captured[i]) <= 1e-5 * Math.max(1, Math.abs(value)),
      `${value} and ${captured[i]}`,
    ),
  );
});

test('a child that is replaced after hybridizing is used from then on', () => {
  const net = new Net().initialize().hybridize();
  const x = input();
  net.call(x);
  net.head = new kn.nn.Dense(1).initialize();
  assert.deepEqual(net.call(x).shape, [5, 1]);
});

test('a block that was not initialized says so', () => {
  assert.throws(
    () => new Net().call(input()),
    (error) => error instanceof kn.ArgumentError && /call initialize\(\)/.test(error.message),
  );
});

test('parameters survive a file, and may be loaded before sizes are known', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kaon-test-'));
  const path = join(folder, 'net.safetensors');
  const net = new Net().initialize();
  const y = net.call(input());
  await net.saveParameters(path);
  const other = new Net();
  await other.loadParameters(path);
  assert.deepEqual(other.call(input()).tolist(), y.tolist());
  const third = new Net();
  third.fromSafetensors(net.toSafetensors());
  assert.deepEqual(third.call(input()).tolist(), y.tolist());
  assert.deepEqual(await readdir(folder), ['net.safetensors'], 'no temporary file is left');
});

test('a file that does not fit changes nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kaon-test-'));
  const path = join(folder, 'dense.safetensors');
  await new kn.nn.Dense(2, { inputs: 3 }).initialize().saveParameters(path);
  const dense = new kn.nn.Dense(2, { inputs: 4 }).initialize();
  const before = dense.weight.value.tolist();
  await assert.rejects(
    dense.loadParameters(path),
    (error) => error instanceof kn.FormatError && /weight/.test(error.message),
  );
  assert.deepEqual(dense.weight.value.tolist(), before);
  await writeFile(path, 'not a file of tensors');
  await assert.rejects(dense.loadParameters(path), kn.FormatError);
  await assert.rejects(dense.loadParameters(join(folder, 'missing')), kn.FormatError);
  await assert.rejects(dense.saveParameters(join(folder, 'no', 'folder')), kn.FormatError);
});

test('a summary lists blocks, shapes and parameter counts', () => {
  const net = new Net().initialize();
  const text = net.summary(input());
  assert.match(text, /body\.layers\.0\s+Dense\s+float32\[5, 4\]\s+16/);
  assert.match(text, /\(whole\)\s+Net\s+float32\[5, 2\]/);
  assert.match(text, /42 parameters, 34 of them trained/);
});

test('the graph of a block has named parameters with values and wants only data', () => {
  const net = new Net().initialize();
  const x = input();
  const y = net.call(x);
  const graph = net.graphFor(x);
  assert.equal(graph.inputNames.length, 1);
  assert.ok([...graph.parameters.keys()].includes('head.weight'));
  assert.deepEqual(Object.values(graph.run({ [graph.inputNames[0]]: x }))[0].tolist(), y.tolist());
});
