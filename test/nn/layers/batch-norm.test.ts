import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { assertClose } from '../../support/close.js';
import { refuses } from '../../front/support.js';

/* Running statistics. */

const batch = [[[1, 2], [3, -1]], [[0.5, 4], [2, 2]], [[-3, 1], [0, 5]]]; // prettier-ignore

/** The mean and the unbiased variance of a list of numbers. */
function statistics(values: readonly number[]): readonly [mean: number, variance: number] {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return [mean, squares / (values.length - 1)];
}

for (const captured of [false, true]) {
  const how = captured ? 'captured' : 'eager';
  test(`running statistics are those of PyTorch, ${how}`, () => {
    // torch 2.15: bn = torch.nn.BatchNorm1d(2, momentum=0.1); bn(x); bn(x * 2 + 1)
    const layer = new kn.nn.BatchNorm().initialize();
    if (captured) layer.hybridize();
    const x = kn.array(batch);
    const y = kn.autograd.trainMode(() => layer.call(x));
    // The batch itself is normalized by its biased variance.
    assertClose(y.slice(0, 0).flatten().dataSync(), [0.0398725569, 0.5183433294], 1e-6);
    assertClose(layer.runningMean.value.flatten().dataSync(), [0.0916666687, 0.1833333373], 1e-6);
    assertClose(
      layer.runningVariance.value.flatten().dataSync(),
      [1.4241666794, 1.3566666842],
      1e-6,
    );
    kn.autograd.trainMode(() => layer.call(x.mul(2).add(1)));
    assertClose(layer.runningMean.value.flatten().dataSync(), [0.3658333421, 0.6316666603], 1e-6);
    assertClose(
      layer.runningVariance.value.flatten().dataSync(),
      [3.3784167767, 3.0476665497],
      1e-6,
    );
  });

  test(`float64 is normalized in float64 beside running statistics of float32, ${how}`, () => {
    const layer = new kn.nn.BatchNorm().initialize();
    if (captured) layer.hybridize();
    const y = kn.autograd.trainMode(() => layer.call(kn.array(batch, { dtype: 'float64' })));
    assert.equal(y.dtype, 'float64');
    const channel = batch.map((row) => row[0]).flat();
    const mean = channel.reduce((a, b) => a + b) / channel.length;
    const variance = channel.reduce((sum, each) => sum + (each - mean) ** 2, 0) / channel.length;
    const expected = batch[0][0].map((each) => (each - mean) / Math.sqrt(variance + 1e-5));
    assertClose(y.slice(0, 0).dataSync(), expected, 1e-14);
    assert.equal(layer.runningMean.value.dtype, 'float32');
    assertClose(layer.runningMean.value.flatten().dataSync(), [0.0916666687, 0.1833333373], 1e-6);
  });

  test(`running statistics follow a plain implementation for every batch size, ${how}`, () => {
    const layer = new kn.nn.BatchNorm({ momentum: 0.6 }).initialize();
    if (captured) layer.hybridize({ dynamic: [['batch', null]] });
    let [mean, variance] = [0, 1];
    for (const rows of [3, 2, 5, 4, 7]) {
      const values = Array.from({ length: rows }, (_, i) => Math.sin(rows * 3 + i) * 4);
      kn.autograd.trainMode(() => layer.call(kn.array(values.map((value) => [value]))));
      const [batchMean, batchVariance] = statistics(values);
      mean = 0.6 * mean + 0.4 * batchMean;
      variance = 0.6 * variance + 0.4 * batchVariance;
      assertClose(layer.runningMean.value.flatten().dataSync(), [mean], 1e-5);
      assertClose(layer.runningVariance.value.flatten().dataSync(), [variance], 1e-5);
    }
  });
}

test('a single element has no variance to train with', () => {
  const layer = new kn.nn.BatchNorm().initialize();
  const train = (): unknown => kn.autograd.trainMode(() => layer.call(kn.ones([1, 3])));
  refuses(train, kn.ShapeError, 'BatchNorm', '[1, 3]');
  assert.equal(layer.runningVariance.isInitialized, false);
  assert.deepEqual(layer.call(kn.ones([1, 3])).shape, [1, 3]);
  refuses(train, kn.ShapeError, 'BatchNorm', '[1, 3]');
  assert.deepEqual(layer.runningVariance.value.tolist(), [1, 1, 1]);
});
