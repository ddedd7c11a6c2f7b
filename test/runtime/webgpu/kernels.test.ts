import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import * as kn from '../../../src/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import { setUpWebGpu } from '../../../src/runtime/webgpu/setup.js';
import { gpuForTests } from '../../support/webgpu.js';

/* Kernels of several dispatches, whose sizes the laws do not reach, on a GPU as on the CPU. */

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
if (typeof gpu !== 'string') {
  const backend = await setUpWebGpu({});
  registerDevice(backend);
  after(() => {
    backend.close();
    gpu.close();
  });
}

async function numbersOf(x: kn.NDArray): Promise<readonly number[]> {
  return Array.from(await x.data(), Number);
}

test('long rows are sorted, and equal elements keep their order', { skip }, async () => {
  kn.random.seed(3);
  for (const [shape, axis, dtype, descending] of [
    [[2, 2500], 1, 'float32', true],
    [[5000], 0, 'int32', false],
    [[70, 3], 0, 'float16', false],
    [[9, 20], 1, 'float32', true],
  ] as const) {
    const x = kn.random.normal([...shape]).mul(50).floor().astype(dtype);
    const sorted = kn.hybridize((of: kn.NDArray) => of.argsort(axis, { descending }));
    assert.deepEqual(await numbersOf(sorted(x.to('webgpu'))), await numbersOf(sorted(x)));
  }
  const x = kn.random.normal([2100]);
  assert.deepEqual(await numbersOf(x.to('webgpu').sort()), await numbersOf(x.sort()));
}); // prettier-ignore

test('rows whose length the data decides are sorted', { skip }, async () => {
  kn.random.seed(5);
  const x = kn.random.normal([6000]).mul(50).floor();
  const kept = kn.hybridize((of: kn.NDArray) => kn.booleanMask(of, of.less(30)).sort());
  const shown = await kept(x.to('webgpu')).cpu();
  assert.deepEqual(shown.tolist(), kept(x).tolist());
  assert.ok(shown.size > 2048);
}); // prettier-ignore

test('positions that a program only uses are not computed elsewhere', { skip }, async () => {
  kn.random.seed(4);
  const x = kn.random.normal([6, 3000]);
  const best = kn.hybridize((of: kn.NDArray) => {
    const { values, indices } = kn.topK(of, 5, 1);
    return kn.concat([values, kn.gather(of.square(), indices, 1), of.sort(1).slice(':', [0, 9])], 1);
  });
  assert.deepEqual(await numbersOf(best(x.to('webgpu'))), await numbersOf(best(x)));
  for (const { islands } of best.explain().traces) assert.deepEqual(islands, []);
}); // prettier-ignore

test('an embedding of many positions learns what it learns on the CPU', { skip }, async () => {
  kn.random.seed(9);
  const at = kn.random.uniform([5, 900]).mul(400).floor().astype('int32');
  const weight = kn.random.normal([400, 8]);
  const gradients: (readonly number[])[] = [];
  for (const device of ['webgpu', 'cpu']) {
    const [table, positions] = [weight.to(device), at.to(device)];
    table.attachGrad();
    const loss = kn.autograd.record(() => table.take(positions, { axis: 0 }).square().sum());
    loss.backward();
    gradients.push(await numbersOf(table.grad!));
  }
  const [found, expected] = gradients;
  // Terms of one sign: a few roundings each, relative to their sum.
  found.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) <= 8 * 2 ** -24 * Math.abs(expected[k])));
}); // prettier-ignore

test('running sums, products and extrema of long rows, and what they learn', { skip }, async () => {
  kn.random.seed(2);
  const same = async (of: (x: kn.NDArray) => kn.NDArray, x: kn.NDArray): Promise<void> =>
    assert.deepEqual(await numbersOf(of(x.to('webgpu'))), await numbersOf(of(x)));
  const whole = kn.random.normal([3000]).mul(4).round();
  await same((x) => x.cumsum(0), whole);
  await same((x) => x.cummax(0, { reverse: true }), kn.concat([whole, kn.array([NaN]), whole], 0));
  await same((x) => x.reshape([2, 1500]).cummin(1), whole);
  await same((x) => x.cumsum(), kn.random.uniform([40, 700]).less(0.5));
  await same((x) => x.astype('float16').cumsum(0, { exclusive: true }), kn.random.uniform([20000]).less(0.05));
  // Rows whose length the data decides, and a product that goes from 2^-120 to 2^120 and back.
  const kept = kn.hybridize((x: kn.NDArray) => kn.booleanMask(x, x.greater(0)).cumprod(0));
  const factors = kn.array(Array.from({ length: 9000 }, (_, k) => (Math.floor((k + 120) / 240) % 2 === 0 ? 0.5 : 2)));
  assert.deepEqual((await kept(factors.to('webgpu')).cpu()).tolist(), kept(factors).tolist());
  // A recurrence.
  const gradient = kn.hybridize(kn.grad((x: kn.NDArray) => x.cumprod(0).sum()));
  await same(gradient, kn.random.uniform([5000]).less(0.5).astype('float32').mul(2).sub(1));
}); // prettier-ignore

test('positions of the best, and counts, of long rows', { skip }, async () => {
  kn.random.seed(8);
  const x = kn.random.uniform([3, 70_000]).mul(900).floor();
  const found = kn.hybridize((of: kn.NDArray) => [of.argmax(1), of.argmin(), of.greater(40).sum(1), of.less(3).sum(), kn.booleanMask(of, of.greater(850)).argmin()]);
  const expected = found(x);
  for (const [i, each] of found(x.to('webgpu')).entries()) {
    assert.deepEqual((await each.cpu()).tolist(), expected[i].tolist(), String(i));
  }
}); // prettier-ignore

test('attention and its gradients, with a mask and without', { skip }, async () => {
  kn.random.seed(6);
  const mask = kn.random.uniform([40, 37]).greater(0.4);
  for (const [heads, queries, keys, size, channels, options] of [
    [2, 40, 37, 16, 10, { causal: true }],
    [2, 40, 37, 16, 10, { mask }],
    // The largest tiles.
    [36, 66, 66, 64, 64, { causal: true }],
    [1, 1, 1100, 20, 24, {}],
  ] as readonly (readonly [number, number, number, number, number, { causal?: boolean; mask?: kn.NDArray }])[]) {
    const [q, k, v] = [[queries, size], [keys, size], [keys, channels]].map((shape) => kn.random.normal([heads, ...shape]));
    const gradients: (readonly number[])[][] = [];
    for (const device of ['webgpu', 'cpu']) {
      const operands = [q, k, v].map((x) => x.to(device));
      for (const operand of operands) operand.attachGrad();
      const given = options.mask === undefined ? options : { mask: options.mask.to(device) };
      const [a, b, c] = operands;
      const loss = kn.autograd.record(() => kn.attention(a, b, c, given).square().sum());
      loss.backward();
      gradients.push(await Promise.all(operands.map(({ grad }) => numbersOf(grad!))));
    }
    const [found, expected] = gradients;
    found.forEach((gradient, i) => {
      const most = expected[i].reduce((greatest, value) => Math.max(greatest, Math.abs(value)), 0);
      gradient.forEach((value, at) => assert.ok(Math.abs(value - expected[i][at]) <= 200 * 2 ** -24 * most));
    });
  }
}); // prettier-ignore

test('products of whole numbers are exact, whatever their tiles', { skip }, async () => {
  kn.random.seed(7);
  const whole = (...shape: readonly number[]): kn.NDArray => kn.random.uniform([...shape]).mul(9).floor().sub(4);
  for (const [m, k, n] of [
    [1024, 16, 2048],
    [128, 64, 192],
    [40, 20, 70],
    [130, 33, 12],
    [70, 36, 32],
    [3, 257, 9],
  ] as const) {
    for (const dtype of ['float32', 'float16'] as const) {
      const [x, y] = [whole(m, k), whole(n, k)].map((of) => of.astype(dtype));
      const product = kn.hybridize((a: kn.NDArray, b: kn.NDArray) => [kn.matmul(a, b.swapaxes(0, 1)).add(1).relu(), kn.matmul(a, b.reshape([k, n]))]);
      const found = product(x.to('webgpu'), y.to('webgpu'));
      const expected = product(x, y);
      for (const [i, each] of found.entries()) {
        assert.ok(kn.equal(await each.cpu(), expected[i]).all().item(), `${m} ${k} ${n}, ${dtype}, ${i}`);
      }
    }
  }
}); // prettier-ignore
