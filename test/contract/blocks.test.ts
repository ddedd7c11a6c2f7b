import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { near } from '../front/support.js';
import { refused, refusedLater } from './refusals.js';

/* "Blocks" in the small print of the public contract, and what "Layers, training, data" says of networks, line by line. */

const { autograd, nn } = kn;

class Net extends nn.HybridBlock {
  first: kn.nn.Dense = new nn.Dense(3, { activation: 'relu' });
  norm: kn.nn.BatchNorm = new nn.BatchNorm({ axis: -1 });
  rest: kn.nn.Dense[] = [new nn.Dense(2), new nn.Dense(1, { useBias: false })];

  override forward(x: kn.NDArray): kn.NDArray {
    return this.rest.reduce((v, layer) => layer.call(v), this.norm.call(this.first.call(x)));
  }
}

const input = (): kn.NDArray => kn.linspace(-1, 1, 8).reshape([4, 2]);

const valuesOf = (net: kn.nn.Block): unknown[] =>
  [...net.parameters()].map(([name, { value }]) => [name, value.tolist()]);

/** Runs a check on an eager and on a captured network. */
function bothWays(line: string, check: (hybridize: <B extends kn.nn.HybridBlock>(block: B) => B) => void): void {
  test(`${line}: eager`, () => check((block) => block));
  test(`${line}: captured`, () => check((block) => block.hybridize()));
} // prettier-ignore

test('`new nn.Parameter({ shape, dtype, init, gradReq })` with `value`, `grad`, `shape`, `name`', () => {
  const w = new nn.Parameter({ shape: [2, 3], dtype: 'float64', init: nn.initializer.ones, gradReq: 'add' }); // prettier-ignore
  assert.deepEqual([w.shape, w.dtype, w.grad, w.gradReq], [[2, 3], 'float64', null, 'add']);
  w.initialize();
  assert.deepEqual([w.value.tolist(), w.value.dtype], [[[1, 1, 1], [1, 1, 1]], 'float64']); // prettier-ignore
  for (let i = 1; i < 3; i++) {
    autograd.record(() => w.value.sum()).backward();
    assert.deepEqual(w.grad!.tolist(), [[i, i, i], [i, i, i]]); // prettier-ignore
  }
  const plain = new nn.Parameter({ shape: [1] });
  assert.deepEqual([plain.dtype, plain.gradReq, plain.name], ['float32', 'write', '']);
});

test('a parameter without a value says so; null dimensions until known', () => {
  const w = new nn.Parameter({ shape: [2, null] });
  refused(() => w.value, { kind: kn.ArgumentError, op: 'Parameter.value', says: 'no value yet' });
  w.initialize();
  assert.deepEqual([w.isInitialized, w.shape], [false, [2, null]]);
  refused(() => w.resolveShape([3, 4]), { kind: kn.ShapeError, op: 'Parameter.resolveShape', says: 'cannot take' }); // prettier-ignore
  w.resolveShape([2, 4]);
  w.initialize();
  assert.deepEqual([w.shape, w.value.shape], [[2, 4], [2, 4]]); // prettier-ignore
  refused(() => new nn.Parameter({ shape: [-1] }), { kind: kn.ShapeError, op: 'Parameter', says: 'not a shape' }); // prettier-ignore
});

test('`net.parameters()` is a `Map` from dotted path to parameter, which optimizers accept', () => {
  const net = new Net().initialize();
  net.call(input());
  const parameters = net.parameters();
  assert.ok(parameters instanceof Map);
  assert.deepEqual([...parameters.keys()], [
    'first.weight', 'first.bias', 'norm.gamma', 'norm.beta', 'norm.runningMean', 'norm.runningVariance',
    'rest.0.weight', 'rest.0.bias', 'rest.1.weight',
  ]); // prettier-ignore
  for (const [name, parameter] of parameters) assert.equal(parameter.name, name);
  const optimizer = new kn.optim.SGD(parameters, { learningRate: 0.1 });
  autograd.record(() => net.call(input()).square().sum()).backward();
  const before = net.first.weight.value.tolist();
  const moved = net.first.weight.value.sub(net.first.weight.grad!.mul(0.1)).tolist();
  optimizer.step();
  near(net.first.weight.value.tolist(), moved);
  assert.notDeepEqual(before, moved);
});

bothWays('Unknown input sizes are inferred at first call', (hybridize) => {
  const net = hybridize(new Net().initialize());
  assert.deepEqual(net.first.weight.shape, [3, null]);
  const y = net.call(input());
  assert.deepEqual([net.first.weight.shape, net.norm.gamma.shape, y.shape], [[3, 2], [3], [4, 1]]); // prettier-ignore
  refused(() => net.call(kn.ones([4, 5])), { kind: kn.ShapeError, op: 'matmul', says: '5' });
});

bothWays('`inferShape` is only needed for own parameters of unknown shape', (hybridize) => {
  class Bias extends nn.HybridBlock {
    b: kn.nn.Parameter = new nn.Parameter({ shape: [null], init: nn.initializer.ones });
    override inferShape(x: kn.NDArray): void {
      this.b.resolveShape([x.shape[1]]);
    }
    override forward(x: kn.NDArray): kn.NDArray {
      return x.add(this.b.value);
    }
  }
  class Forgetful extends nn.HybridBlock {
    b: kn.nn.Parameter = new nn.Parameter({ shape: [null] });
    override forward(x: kn.NDArray): kn.NDArray {
      return x.add(this.b.value);
    }
  }
  assert.deepEqual(
    hybridize(new Bias().initialize())
      .call(kn.zeros([1, 2]))
      .tolist(),
    [[1, 1]],
  );
  const forgetful = hybridize(new Forgetful().initialize());
  refused(() => forgetful.call(kn.zeros([1, 2])), { kind: kn.ArgumentError, op: 'Forgetful.call', says: 'still unknown' }); // prettier-ignore
});

bothWays('a network that was not initialized says so, and nothing happens', (hybridize) => {
  const net = hybridize(new Net());
  refused(() => net.call(input()), { kind: kn.ArgumentError, op: 'Dense.call', says: 'initialize()', lacks: ['expected', 'actual'] }); // prettier-ignore
  assert.equal(net.first.weight.isInitialized, false);
  net.initialize();
  assert.deepEqual(net.call(input()).shape, [4, 1]);
});

bothWays('initializing twice keeps the values, unless forced', (hybridize) => {
  kn.random.seed(1);
  const net = hybridize(new Net().initialize());
  net.call(input());
  const before = valuesOf(net);
  net.initialize();
  assert.deepEqual(valuesOf(net), before);
  net.first.bias!.assign([7, 7, 7]);
  net.initialize({ force: true });
  assert.deepEqual(net.first.bias!.value.tolist(), [0, 0, 0]);
  assert.notDeepEqual(valuesOf(net), before);
  assert.deepEqual(net.call(input()).shape, [4, 1]);
});

bothWays('Children may be replaced after hybridizing', (hybridize) => {
  const net = hybridize(new Net().initialize());
  net.call(input());
  net.rest = [new nn.Dense(5).initialize()];
  for (let i = 0; i < 3; i++) assert.deepEqual(net.call(input()).shape, [4, 5]);
  net.rest[0] = new nn.Dense(6).initialize();
  for (let i = 0; i < 3; i++) assert.deepEqual(net.call(input()).shape, [4, 6]);
  net.rest[0].weight = new nn.Parameter({ shape: [6, 3], init: nn.initializer.zeros });
  net.rest[0].weight.initialize();
  for (let i = 0; i < 3; i++) {
    assert.deepEqual(net.call(input()).tolist(), kn.zeros([4, 6]).tolist());
  }
});

bothWays('a parameter that two blocks share is one: it appears once, and gets both gradients', (hybridize) => {
  class Tied extends nn.HybridBlock {
    a: kn.nn.Dense = new nn.Dense(2, { inputs: 2, useBias: false });
    b: kn.nn.Dense = new nn.Dense(2, { inputs: 2, useBias: false });
    override forward(x: kn.NDArray): kn.NDArray {
      return this.b.call(this.a.call(x));
    }
  }
  const net = hybridize(new Tied());
  net.b.weight = net.a.weight;
  net.initialize();
  net.a.weight.assign([[2, 0], [0, 3]]);
  assert.deepEqual([...net.parameters().keys()], ['a.weight']);
  for (let i = 0; i < 3; i++) {
    autograd.record(() => net.call(kn.ones([1, 2])).sum()).backward();
    // (W' 1) x' + 1 (W x)' for x = 1
    assert.deepEqual(net.a.weight.grad!.tolist(), [[2 + 2, 2 + 3], [3 + 2, 3 + 3]]);
  }
}); // prettier-ignore

bothWays('a block used in two places is one block', (hybridize) => {
  const layer = new nn.Dense(2, { inputs: 2, useBias: false });
  const net = hybridize(new nn.Sequential(layer, layer).initialize());
  layer.weight.assign([[2, 0], [0, 3]]); // prettier-ignore
  assert.equal(net.parameters().size, 1);
  for (let i = 0; i < 3; i++) assert.deepEqual(net.call(kn.ones([1, 2])).tolist(), [[4, 9]]);
});

test('`saveParameters` and `loadParameters` are asynchronous, work before sizes are known', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kaon-contract-'));
  try {
    const path = join(folder, 'net.safetensors');
    const net = new Net().initialize();
    const y = net.call(input()).tolist();
    await net.saveParameters(path);
    for (const active of [false, true]) {
      const fresh = new Net().hybridize({ active });
      await fresh.loadParameters(path);
      assert.deepEqual(valuesOf(fresh), valuesOf(net));
      near(fresh.call(input()).tolist(), y, 1e-6);
      const used = new Net().initialize().hybridize({ active });
      used.call(input());
      await used.loadParameters(path);
      near(used.call(input()).tolist(), y, 1e-6);
    }
    await writeFile(path, 'no safetensors');
    const before = valuesOf(net);
    await refusedLater(() => net.loadParameters(path), { kind: kn.FormatError, says: /./, lacks: ['expected', 'actual', 'source'] }); // prettier-ignore
    assert.deepEqual(valuesOf(net), before);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('saveParameters and loadParameters have byte forms (`toSafetensors`, `fromSafetensors`)', () => {
  const net = new Net().initialize();
  refused(() => net.toSafetensors(), { kind: kn.ArgumentError, op: 'Parameter.value', says: 'no value yet' }); // prettier-ignore
  net.call(input());
  const bytes = net.toSafetensors();
  assert.ok(bytes instanceof Uint8Array);
  const other = new Net();
  other.fromSafetensors(bytes);
  assert.deepEqual(valuesOf(other), valuesOf(net));
  const foreign = new nn.Dense(4, { inputs: 2 }).initialize();
  const before = valuesOf(foreign);
  refused(() => foreign.fromSafetensors(bytes), { kind: kn.FormatError, op: 'fromSafetensors', says: 'no parameter weight' }); // prettier-ignore
  refused(() => foreign.fromSafetensors(bytes.slice(0, 20)), { kind: kn.FormatError, says: /./, lacks: ['expected', 'actual'] }); // prettier-ignore
  assert.deepEqual(valuesOf(foreign), before);
});

test('net.summary(x): a table of blocks, shapes and parameter counts; nothing is changed', () => {
  const net = new Net().initialize();
  const text = net.summary(input());
  for (const word of ['first', 'norm', 'rest.0', 'Dense', 'BatchNorm', 'float32[4, 1]', '31 parameters, 25 of them trained']) {
    assert.ok(text.includes(word), `${text}\nlacks ${word}`);
  }
  assert.deepEqual(net.norm.runningMean.value.tolist(), [0, 0, 0]);
  net.hybridize();
  net.call(input());
  assert.equal(net.summary(input()), text);
}); // prettier-ignore

bothWays('`parameter.assign(array)`: the value is replaced, and graphs see it', (hybridize) => {
  const net = hybridize(new nn.Dense(1, { inputs: 2, useBias: false }).initialize());
  for (const w of [1, 2, 3]) {
    net.weight.assign(kn.full([1, 2], w));
    assert.deepEqual(net.call(kn.ones([1, 2])).tolist(), [[2 * w]]);
  }
  const { value } = net.weight;
  refused(() => net.weight.assign(kn.ones([2, 1])), { kind: kn.ShapeError, op: 'assign', says: 'another shape' }, [value]); // prettier-ignore
  refused(() => net.weight.assign(kn.ones([1, 2], { dtype: 'int32' })), { kind: kn.DTypeError, op: 'assign', says: 'another dtype' }, [value]); // prettier-ignore
  assert.equal(net.weight.value, value);
});

bothWays('`parameter.zeroGrad()`', (hybridize) => {
  const net = hybridize(new nn.Dense(1, { inputs: 2 }).initialize());
  autograd.record(() => net.call(kn.ones([1, 2])).sum()).backward();
  assert.deepEqual(net.weight.grad!.tolist(), [[1, 1]]);
  net.weight.zeroGrad();
  assert.deepEqual([net.weight.grad!.tolist(), net.bias!.grad!.tolist()], [[[0, 0]], [1]]);
});

bothWays('batch-norm statistics are parameters with `gradReq: \'null\'`', (hybridize) => {
  const norm = hybridize(new nn.BatchNorm().initialize());
  autograd.record(() => norm.call(kn.array([[1, 2], [3, 6]])).sum()).backward();
  assert.deepEqual([norm.runningMean.gradReq, norm.runningMean.grad], ['null', null]);
  near([norm.runningMean.value.tolist(), norm.runningVariance.value.tolist()], [[0.2, 0.4], [1.1, 1.7]], 1e-6);
}); // prettier-ignore

bothWays('Batch norm: y = gamma (x - mean) / sqrt(variance + epsilon) + beta, of the batch or of the running statistics', (hybridize) => {
  const norm = hybridize(new nn.BatchNorm({ axis: 1, epsilon: 0.5 }).initialize());
  norm.call(kn.zeros([1, 2]));
  norm.gamma.assign([2, 3]);
  norm.beta.assign([10, 20]);
  const rows = [[1, 2], [3, 6]];
  const plain = (mean: number[], variance: number[]): number[][] =>
    rows.map((row) => row.map((v, c) => ([2, 3][c] * (v - mean[c])) / Math.sqrt(variance[c] + 0.5) + [10, 20][c]));
  const x = kn.array(rows);
  near(autograd.trainMode(() => norm.call(x)).tolist(), plain([2, 4], [1, 4]));
  near(norm.call(x).tolist(), plain([0.2, 0.4], [0.9 + 0.2, 0.9 + 0.8]));
}); // prettier-ignore

bothWays('Layout is channels first. `Conv2d(channels, kernelSize, { strides, padding, dilation, groups, useBias, activation })`', (hybridize) => {
  const conv = hybridize(new nn.Conv2d(4, 3, { strides: 2, padding: 1, dilation: 1, groups: 2, useBias: true, activation: 'relu' }).initialize());
  const x = kn.linspace(-1, 1, 2 * 2 * 25).reshape([2, 2, 5, 5]);
  const y = conv.call(x);
  assert.deepEqual([y.shape, conv.weight.shape], [[2, 4, 3, 3], [4, 1, 3, 3]]);
  const at = (n: number, c: number, i: number, j: number): number =>
    i < 0 || j < 0 || i > 4 || j > 4 ? 0 : Number(x.slice(n, c, i, j).item());
  const w = conv.weight.value.tolist() as number[][][][];
  const plain = [0, 1].map((n) => w.map((filter, o) => [0, 1, 2].map((i) => [0, 1, 2].map((j) => {
    let sum = 0;
    filter[0].forEach((row, a) => row.forEach((v, b) => (sum += v * at(n, o >> 1, 2 * i + a - 1, 2 * j + b - 1))));
    return Math.max(0, sum);
  }))));
  near(y.tolist(), plain);
}); // prettier-ignore

bothWays('`Dense(units, { activation, useBias, flatten })`, `Embedding(count, size)`, `Dropout(rate)`', (hybridize) => {
  const dense = hybridize(new nn.Dense(2, { activation: 'relu', useBias: false, flatten: true }).initialize());
  assert.deepEqual(dense.call(kn.ones([3, 2, 4])).shape, [3, 2]);
  assert.deepEqual([dense.weight.shape, dense.bias], [[2, 8], null]);
  const embedding = hybridize(new nn.Embedding(5, 3).initialize());
  const symbols = kn.array([[1, 4], [1, 0]], { dtype: 'int32' });
  assert.deepEqual(embedding.call(symbols).tolist(), embedding.weight.value.take([[1, 4], [1, 0]], { axis: 0 }).tolist());
  const drop = hybridize(new nn.Dropout(0.25).initialize());
  assert.deepEqual(drop.call(kn.ones([4])).tolist(), [1, 1, 1, 1]);
  const kept = autograd.trainMode(() => drop.call(kn.ones([1000])).tolist() as number[]);
  assert.ok(kept.every((v) => v === 0 || Math.abs(v - 4 / 3) < 1e-6));
  refused(() => new nn.Dropout(1), { kind: kn.ArgumentError, op: 'Dropout', says: 'probability' });
}); // prettier-ignore

bothWays('cells: `cell.call(x, states)` returns `[output, states]`, `cell.beginState(batch)`', (hybridize) => {
  for (const [cell, count] of [[new nn.RNNCell(3), 1], [new nn.LSTMCell(3), 2], [new nn.GRUCell(3), 1]] as const) {
    const captured = hybridize(cell.initialize() as kn.nn.LSTMCell);
    const states = captured.beginState(2);
    assert.equal(states.length, count);
    const [output, next] = captured.call(kn.ones([2, 4]), states);
    const [again] = captured.call(kn.ones([2, 4]), next);
    assert.deepEqual([output.shape, next.length, next[0].shape, again.shape], [[2, 3], count, [2, 3], [2, 3]]);
    assert.deepEqual(output.tolist(), next[0].tolist());
  }
}); // prettier-ignore

test('`dynamic` works through the layers, and on the first call', () => {
  const net = new nn.Sequential(new nn.Dense(4, { flatten: true }), new nn.BatchNorm(), new nn.Dropout(0.5)).initialize();
  net.hybridize({ dynamic: [['n', null]] });
  for (const n of [2, 5, 3]) {
    assert.deepEqual(net.call(kn.ones([n, 3])).shape, [n, 4]);
    assert.deepEqual(autograd.trainMode(() => net.call(kn.ones([n, 3]))).shape, [n, 4]);
  }
  assert.equal(net.explain().traces.length, 2);
}); // prettier-ignore
