import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';

/** A state dict as PyTorch names it: a convolution, a linear layer, a buffer that no parameter takes. */
const torchArrays = (): Record<string, kn.NDArray> => ({
  'conv.weight': kn.arange(2 * 3 * 3 * 3).reshape([2, 3, 3, 3]).div(10),
  'conv.bias': kn.array([1, 2]),
  'head.weight': kn.arange(8).reshape([4, 2]),
  'head.bias': kn.array([1, 2, 3, 4], { dtype: 'float64' }),
  'bn.num_batches_tracked': kn.array(7n),
}); // prettier-ignore

class Net extends kn.nn.HybridBlock {
  first: kn.nn.Conv2d = new kn.nn.Conv2d(2, 3);
  layers: kn.nn.Dense[] = [new kn.nn.Dense(4)];

  override forward(x: kn.NDArray): kn.NDArray {
    return this.layers[0].call(this.first.call(x).mean([2, 3]));
  }
}

const map = {
  'conv.weight': 'first.weight',
  'conv.bias': 'first.bias',
  'head.weight': 'layers.0.weight',
  'head.bias': { name: 'layers.0.bias', cast: true },
  'bn.num_batches_tracked': null,
};

test('a state dict loads by a map of names, as object and as function, before sizes are known', async () => {
  const file = await kn.saveToBytes('safetensors', torchArrays());
  const archive = await kn.saveToBytes('npz', torchArrays());
  const renamed = (name: string): string | null =>
    name.startsWith('bn.') ? null : name.replace('conv', 'first').replace('head', 'layers.0');
  for (const source of [file, archive, torchArrays()]) {
    for (const options of [{ map }, { map: renamed, cast: true }]) {
      const net = new Net().initialize();
      const report = await net.loadParameters(source, options);
      assert.deepEqual(report.loaded, [...net.parameters().keys()]);
      assert.deepEqual([report.missing, report.unexpected, report.mismatched], [[], [], []]);
      const arrays = torchArrays();
      // The mean over windows of a linear function, worked out by hand from the same numbers.
      const x = kn.ones([1, 3, 4, 4]);
      const mean = arrays['conv.weight'].sum([1, 2, 3]).add(arrays['conv.bias']);
      const expected = arrays['head.weight'].matmul(mean).add(arrays['head.bias'].astype('float32')); // prettier-ignore
      const found = net.call(x).flatten().tolist() as number[];
      (expected.tolist() as number[]).forEach((value, i) => assert.ok(Math.abs(found[i] - value) < 1e-5 * Math.abs(value))); // prettier-ignore
    }
  }
});

test('weights that another library keeps the other way round are turned', async () => {
  const net = new kn.nn.Dense(4, { inputs: 2 }).initialize();
  const kernel = kn.arange(8).reshape([2, 4]);
  await net.loadParameters(
    { kernel, bias: kn.zeros([4]) },
    { map: { kernel: { name: 'weight', transpose: true } } },
  );
  assert.deepEqual(net.weight.value.tolist(), kernel.transpose().tolist());
  const conv = new kn.nn.Conv2d(2, 3, { useBias: false });
  conv.initialize();
  const hwio = kn.arange(3 * 3 * 5 * 2).reshape([3, 3, 5, 2]);
  await conv.loadParameters({ hwio }, { map: () => ({ name: 'weight', transpose: [3, 2, 0, 1] }) });
  assert.deepEqual(conv.weight.value.tolist(), hwio.transpose([3, 2, 0, 1]).tolist());
});

test('strict by default: what is missing, too much or of another type is refused, and nothing changes', async () => {
  const weight = kn.ones([4, 2]);
  const bias = kn.ones([4]);
  const cases: readonly [Record<string, kn.NDArray>, kn.LoadParametersOptions, RegExp][] = [
    [{ weight }, {}, /no parameter bias/],
    [{ weight, bias, more: bias }, {}, /not parameters/],
    [{ weight: weight.transpose(), bias }, {}, /another type/],
    [{ weight, bias: bias.astype('float64') }, {}, /another type/],
    [{ weight, bias, b: bias }, { map: { b: 'bias' } }, /two arrays/],
    [{ weight, bias }, { map: { bias: 'bais' } }, /bais/],
    [{ weight, bias }, { strikt: false } as never, /strikt/],
    [{ weight, bias }, { map: { bias: 7 } } as never, /not acceptable/],
  ];
  const net = new kn.nn.Dense(4, { inputs: 2 }).initialize();
  const before = net.weight.value.tolist();
  for (const [arrays, options, says] of cases) {
    await assert.rejects(
      net.loadParameters(arrays, options),
      (error) => error instanceof kn.KaonError && says.test(error.message),
      String(says),
    );
  }
  assert.deepEqual(net.weight.value.tolist(), before);
  assert.deepEqual(net.bias!.value.tolist(), [0, 0, 0, 0]);
});

test('without strict what fits is loaded, and the report says the rest', async () => {
  const net = new kn.nn.Sequential(
    new kn.nn.Dense(4, { inputs: 2 }),
    new kn.nn.Dense(3, { inputs: 4 }),
  ).initialize();
  const report = await net.loadParameters(
    { 'layers.0.weight': kn.ones([4, 2]), 'layers.1.weight': kn.ones([4, 3]), extra: kn.ones([1]) },
    { strict: false },
  );
  assert.deepEqual(report, {
    loaded: ['layers.0.weight'],
    missing: ['layers.0.bias', 'layers.1.bias'],
    unexpected: ['extra'],
    mismatched: [{ name: 'layers.1.weight', expected: 'float32[3, 4]', actual: 'float32[4, 3]' }],
  });
  assert.equal(net.parameters().get('layers.0.weight')!.value.sum().item(), 8);
});
