import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { rounded, ulpOf } from '../../support/rounding.js';

/** Statistics of 16-bit floats against plain numbers, where 16 bits overflow or cancel on the way. */

const mean = (xs: readonly number[]): number => xs.reduce((a, b) => a + b, 0) / xs.length;
const variance = (xs: readonly number[]): number => mean(xs.map((x) => (x - mean(xs)) ** 2));
const length = (xs: readonly number[]): number => Math.hypot(...xs);
const logSum = (xs: readonly number[]): number => {
  const most = Math.max(...xs);
  return most + Math.log(xs.reduce((total, x) => total + Math.exp(x - most), 0));
};

const plain: Readonly<Record<string, [(x: kn.NDArray) => kn.NDArray, (xs: readonly number[]) => number[]]>> = {
  var: [(x) => kn.var(x), (xs) => [variance(xs)]],
  'var, corrected': [(x) => kn.var(x, null, { correction: 1 }), (xs) => [(variance(xs) * xs.length) / (xs.length - 1)]],
  std: [(x) => kn.std(x), (xs) => [Math.sqrt(variance(xs))]],
  norm: [(x) => kn.norm(x), (xs) => [length(xs)]],
  'norm of order 3': [(x) => kn.norm(x, null, { ord: 3 }), (xs) => [Math.cbrt(xs.reduce((t, x) => t + Math.abs(x) ** 3, 0))]],
  mean: [(x) => kn.mean(x), (xs) => [mean(xs)]],
  logsumexp: [(x) => kn.logsumexp(x), (xs) => [logSum(xs)]],
  logSoftmax: [(x) => kn.logSoftmax(x), (xs) => xs.map((x) => x - logSum(xs))],
  softmax: [(x) => kn.softmax(x), (xs) => xs.map((x) => Math.exp(x - logSum(xs)))],
  l2Normalize: [(x) => kn.l2Normalize(x), (xs) => xs.map((x) => x / length(xs))],
  layerNorm: [(x) => kn.layerNorm(x), (xs) => xs.map((x) => (x - mean(xs)) / Math.sqrt(variance(xs) + 1e-5))],
  rmsNorm: [(x) => kn.rmsNorm(x), (xs) => xs.map((x) => x / Math.sqrt(mean(xs.map((y) => y * y)) + 1e-5))],
}; // prettier-ignore

const rows = {
  float16: [[1000, 1004], [300, 400], [60000, 60032, 59968], [30000, -30000, 20000], [0.001, 0.002, 3], [2048, 2050, 2052, 2054]],
  bfloat16: [[1000, 1004], [300, 400], [2 ** 60, 2 ** 40], [1e9, 1.5e9, -2e9].map((x) => rounded('bfloat16', x)), [256, 258, 260, 254]],
} as const; // prettier-ignore

for (const dtype of ['float16', 'bfloat16'] as const) {
  for (const [name, [op, wanted]] of Object.entries(plain)) {
    test(`${name} of ${dtype} is the exact one, rounded once, in every mode`, () => {
      for (const row of rows[dtype]) {
        // A third power is beyond float32.
        if (name.includes('3') && row[0] > 1e12) continue;
        const x = kn.array([...row], { dtype });
        const exact = wanted(row);
        const found = [op(x), kn.hybridize(op)(x), kn.deferredCompute(() => op(x))];
        for (const each of found) {
          assert.equal(each.dtype, dtype);
          const values = [each.tolist()].flat(2) as number[];
          values.forEach((value, i) => {
            const nearest = rounded(dtype, exact[i]);
            const isClose =
              value === nearest || Math.abs(value - exact[i]) <= ulpOf(dtype, exact[i]);
            assert.ok(isClose, `${name}(${row.join(', ')}): ${value} instead of ${nearest}`);
          });
        }
      }
    });
  }
}

test('the cases of the issue', () => {
  assert.equal(kn.var(kn.array([1000, 1004], { dtype: 'bfloat16' })).item(), 4);
  assert.equal(kn.norm(kn.array([300, 400], { dtype: 'float16' })).item(), 500);
});

test('gradients of statistics do not overflow in 16 bits', () => {
  const gradientOf = (f: (x: kn.NDArray) => kn.NDArray, row: readonly number[], dtype: kn.DType): unknown => {
    const x = kn.array([...row], { dtype });
    x.attachGrad();
    kn.autograd.record(() => f(x)).backward();
    return x.grad!.tolist();
  }; // prettier-ignore
  assert.deepEqual(
    gradientOf((x) => kn.norm(x), [300, 400], 'float16'),
    [rounded('float16', 0.6), rounded('float16', 0.8)],
  );
  // The length of the vector, about 70,000, is no float16; its gradient is.
  const long = [42016, 56000];
  assert.deepEqual(
    gradientOf((x) => kn.norm(x), long, 'float16'),
    long.map((x) => rounded('float16', x / length(long))),
  );
  assert.deepEqual(
    gradientOf((x) => kn.std(x), [1000, 1004], 'bfloat16'),
    [-0.5, 0.5],
  );
  // One part in 70,000, a count that is no float16.
  const x = kn.ones([70000], { dtype: 'float16' });
  x.attachGrad();
  kn.autograd.record(() => x.mean()).backward();
  assert.equal(x.grad!.max().item(), rounded('float16', 1 / 70000));
});
