import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { assertClose } from '../../support/close.js';

const flat = (x: kn.NDArray): number[] => [...x.dataSync()].map(Number);

/** Runs a check on a block as written and captured. */
function bothWays<B extends kn.nn.HybridBlock>(
  name: string,
  make: () => B,
  check: (block: B) => void,
): void {
  test(`${name}, eager`, () => check(make().initialize()));
  test(`${name}, captured`, () => check(make().initialize().hybridize()));
}

bothWays(
  'Dense multiplies by the transposed weight and adds the bias',
  () => new kn.nn.Dense(2),
  (dense) => {
    const x = kn.array([[1, 2, 3]]);
    dense.call(x);
    dense.weight.assign([[1, 0, -1], [2, 2, 2]]); // prettier-ignore
    dense.bias!.assign([10, 20]);
    assert.deepEqual(dense.call(x).tolist(), [[8, 32]]);
    assert.deepEqual(dense.call(kn.ones([2, 1, 3])).tolist(), [[[10, 26]], [[10, 26]]]);
  },
);

bothWays(
  'Dense flattens when asked, without bias',
  () => new kn.nn.Dense(1, { flatten: true, useBias: false, activation: 'relu' }),
  (dense) => {
    const x = kn.ones([2, 2, 2]);
    dense.call(x);
    dense.weight.assign([[1, 2, 3, -10]]);
    assert.deepEqual(dense.call(x).tolist(), [[0], [0]]);
    dense.weight.assign([[1, 2, 3, 4]]);
    assert.deepEqual(dense.call(x).tolist(), [[10], [10]]);
  },
);

bothWays(
  'Conv2d adds its bias to every place of a channel',
  () => new kn.nn.Conv2d(2, 2),
  (conv) => {
    const x = kn.arange(9).reshape([1, 1, 3, 3]);
    conv.call(x);
    conv.weight.assign(kn.ones([2, 1, 2, 2]));
    conv.bias!.assign([0, 100]);
    assert.deepEqual(conv.call(x).tolist(), [[[[8, 12], [20, 24]], [[108, 112], [120, 124]]]]); // prettier-ignore
  },
);

bothWays(
  'ConvTranspose2d spreads each pixel',
  () => new kn.nn.ConvTranspose2d(1, 2, { strides: 2, useBias: false }),
  (conv) => {
    const x = kn.array([[[[1, 2]]]]);
    conv.call(x);
    conv.weight.assign(kn.array([[[[1, 10], [100, 1000]]]])); // prettier-ignore
    assert.deepEqual(conv.call(x).tolist(), [[[[1, 10, 2, 20], [100, 1000, 200, 2000]]]]); // prettier-ignore
  },
);

bothWays(
  'pooling layers',
  () =>
    new kn.nn.Sequential(
      new kn.nn.MaxPool2d(2),
      new kn.nn.AvgPool2d(1),
      new kn.nn.GlobalAvgPool2d(),
    ),
  (pool) => {
    const x = kn.arange(16).reshape([1, 1, 4, 4]);
    assert.deepEqual(pool.call(x).tolist(), [[[[10]]]]); // mean of 5, 7, 13, 15
  },
);

bothWays(
  'adaptive pools give any input one size',
  () =>
    new kn.nn.Sequential(
      new kn.nn.AdaptiveMaxPool2d([3, null]),
      new kn.nn.AdaptiveAvgPool2d([2, 1]),
    ),
  (pool) => {
    // Of the rows 0, 4, 8, 12 the bins 0 4 | 4 8 | 8 12 keep the last; of these, bins 4 8 | 8 12 the mean.
    const x = kn.arange(16).reshape([1, 1, 4, 4]);
    assert.deepEqual(pool.call(x).tolist(), [[[[6 + 1.5], [10 + 1.5]]]]);
    const wide = kn.arange(50).reshape([1, 1, 5, 10]);
    assert.deepEqual(pool.call(wide).shape, [1, 1, 2, 1]);
  },
);

bothWays(
  'InstanceNorm normalizes channels of examples, and learns a scale and a shift unless told not to',
  () => new kn.nn.InstanceNorm(),
  (norm) => {
    const x = kn.array([[[1, 3], [100, 300]]]); // prettier-ignore
    assertClose(flat(norm.call(x)), [-1, 1, -1, 1], 1e-4);
    norm.gamma!.assign([2, 3]);
    norm.beta!.assign([10, 20]);
    assertClose(flat(norm.call(x)), [8, 12, 17, 23], 1e-4);
    const plain = new kn.nn.InstanceNorm({ affine: false }).initialize();
    assert.equal(plain.parameters().size, 0);
    assertClose(flat(plain.call(x)), [-1, 1, -1, 1], 1e-4);
  },
);

bothWays(
  'BatchNorm normalizes by the batch when training and updates its statistics once a call',
  () => new kn.nn.BatchNorm({ momentum: 0.75 }),
  (norm) => {
    const x = kn.array([[1, 10], [3, 30]]); // prettier-ignore
    const y = kn.autograd.record(() => norm.call(x));
    assertClose(flat(y), [-1, -1, 1, 1], 1e-4);
    assertClose(flat(norm.runningMean.value), [0.25 * 2, 0.25 * 20]);
    assertClose(flat(norm.runningVariance.value), [0.75 + 0.25 * 2, 0.75 + 0.25 * 200]);
    const predicted = norm.call(x);
    assertClose(
      flat(predicted),
      [0.5 / Math.sqrt(1.25), 5 / Math.sqrt(50.75), 2.5 / Math.sqrt(1.25), 25 / Math.sqrt(50.75)],
      1e-4,
    );
    assertClose(flat(norm.runningMean.value), [0.5, 5]);
  },
);

bothWays(
  'LayerNorm, RMSNorm and GroupNorm have unit scale at the start',
  () => new kn.nn.LayerNorm(),
  (norm) => {
    const x = kn.array([[1, 3]]);
    assertClose(flat(norm.call(x)), [-1, 1], 1e-4);
    assertClose(
      flat(new kn.nn.RMSNorm().initialize().call(kn.array([[3, 4]]))),
      [3 / Math.sqrt(12.5), 4 / Math.sqrt(12.5)],
      1e-4,
    );
    const groups = new kn.nn.GroupNorm(2)
      .initialize()
      .call(kn.array([[1, 3, 100, 300]]).reshape([1, 4, 1]));
    assertClose(flat(groups), [-1, 1, -1, 1], 1e-4);
  },
);

bothWays(
  'Embedding looks rows up and gives them gradients',
  () => new kn.nn.Embedding(3, 2),
  (embedding) => {
    const indices = kn.array([[2, 0], [2, 2]], { dtype: 'int32' }); // prettier-ignore
    embedding.weight.assign([[1, 2], [3, 4], [5, 6]]); // prettier-ignore
    const y = kn.autograd.record(() => embedding.call(indices));
    assert.deepEqual(y.tolist(), [[[5, 6], [1, 2]], [[5, 6], [5, 6]]]); // prettier-ignore
    y.backward();
    assert.deepEqual(embedding.weight.grad!.tolist(), [[1, 1], [0, 0], [3, 3]]); // prettier-ignore
  },
);

bothWays(
  'Dropout draws a fresh mask each training call, keeps the mean, and rests otherwise',
  () => new kn.nn.Dropout(0.25),
  (dropout) => {
    kn.random.seed(5);
    const x = kn.ones([10000]);
    assert.deepEqual(flat(dropout.call(x)), flat(x));
    const [one, two] = [0, 1].map(() => kn.autograd.record(() => dropout.call(x)));
    assert.notDeepEqual(flat(one), flat(two));
    const values = new Set(flat(one));
    assert.deepEqual([...values].sort(), [0, Math.fround(4 / 3)]);
    assertClose([Number(one.mean().item())], [1], 0.03);
  },
);

test('equal seeds give equal dropout masks, eager and captured', () => {
  const masks = [false, true].map((captured) => {
    const dropout = new kn.nn.Dropout(0.5);
    if (captured) dropout.hybridize();
    kn.random.seed(9);
    return [0, 1, 2].map(() => flat(kn.autograd.record(() => dropout.call(kn.ones([20])))));
  });
  assert.deepEqual(masks[0], masks[1]);
});

bothWays(
  'MultiHeadAttention mixes values by softmax of scaled products',
  () => new kn.nn.MultiHeadAttention(2, 1, { useBias: false }),
  (attention) => {
    const x = kn.array([[[1, 0], [0, 1]]]); // prettier-ignore
    attention.call(x);
    for (const { value } of attention.parameters().values()) value.assign(kn.eye(2));
    const [near, far] = [Math.exp(1 / Math.sqrt(2)), 1];
    const [p, q] = [near / (near + far), far / (near + far)];
    assertClose(flat(attention.call(x)), [p, q, q, p]);
    assertClose(flat(attention.call(x, x, x, { causal: true })), [1, 0, q, p]);
  },
);

bothWays(
  'TransformerEncoderLayer keeps the shape and trains all its parameters',
  () => new kn.nn.TransformerEncoderLayer(8, 2, { dropout: 0 }),
  (layer) => {
    kn.random.seed(4);
    const x = kn.random.normal([2, 3, 8]);
    const y = kn.autograd.record(() => layer.call(x).square().sum());
    y.backward();
    assert.deepEqual(layer.call(x).shape, [2, 3, 8]);
    for (const [name, { grad }] of layer.parameters()) {
      // A bias of the keys shifts all scores of a query alike, which softmax ignores.
      if (name !== 'attention.key.bias')
        assert.ok(
          flat(grad!).some((g) => Math.abs(g) > 1e-6),
          name,
        );
    }
  },
);

test('sizes that cannot be are refused', () => {
  assert.throws(() => new kn.nn.Dropout(1), kn.ArgumentError);
  assert.throws(() => new kn.nn.Dense(-1), kn.ShapeError);
  assert.throws(() => new kn.nn.Conv2d(2.5, 3), kn.ShapeError);
  assert.throws(() => new kn.nn.MultiHeadAttention(3, 2), kn.ArgumentError);
  assert.throws(() => new kn.nn.Dense(2, { activation: 'nonsense' as never }), kn.ArgumentError);
});
