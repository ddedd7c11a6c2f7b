import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { type Narrow, rounded, ulpOf } from '../support/rounding.js';

/** Losses of 16-bit floats against plain numbers: squares, sums and logarithms that 16 bits do not hold. */

const { loss } = kn.nn;
type Rows = readonly (readonly number[])[];
type Loss = (p: kn.NDArray, t: kn.NDArray, reduction: 'mean' | 'sum' | 'none') => kn.NDArray;

const logSum = (row: readonly number[]): number => {
  const most = Math.max(...row);
  return most + Math.log(row.reduce((total, x) => total + Math.exp(x - most), 0));
};
/** A loss for each element, or for each row, of pairs. */
const each =
  (f: (p: number, t: number) => number) =>
  (p: Rows, t: Rows): number[] =>
    p.flatMap((row, i) => row.map((x, k) => f(x, t[i][k])));
const eachRow = (f: (p: readonly number[], t: readonly number[]) => number) => (p: Rows, t: Rows): number[] =>
  p.map((row, i) => f(row, t[i])); // prettier-ignore
const total = (row: readonly number[]): number => row.reduce((a, b) => a + b, 0);

const far: Rows = [[300, -400, 500], [1000, 1016, -2000]]; // prettier-ignore
const near: Rows = [[301, -402, 250], [1008, 1000, -1000]]; // prettier-ignore
const small: Rows = [[10, -9.5, 0.5], [0.125, 12, 4]]; // prettier-ignore
const shares: Rows = [[0.5, 0.25, 0.25], [0.125, 0.875, 0]]; // prettier-ignore
const chances: Rows = [[0.5, 0.0625, 0.99609375], [0.125, 0.875, 0.0078125]]; // prettier-ignore

interface Case {
  readonly loss: Loss;
  readonly plain: (p: Rows, t: Rows) => number[];
  readonly p: Rows;
  readonly t: Rows;
}

const cases: Readonly<Record<string, Case>> = {
  mse: { loss: (p, t, reduction) => loss.mse(p, t, { reduction }), plain: each((p, t) => (p - t) ** 2), p: far, t: near },
  l1: { loss: (p, t, reduction) => loss.l1(p, t, { reduction }), plain: each((p, t) => Math.abs(p - t)), p: far, t: near },
  huber: {
    loss: (p, t, reduction) => loss.huber(p, t, { reduction, delta: 300 }),
    plain: each((p, t) => (Math.abs(p - t) < 300 ? (p - t) ** 2 / 2 : 300 * (Math.abs(p - t) - 150))),
    p: far,
    t: near,
  },
  'binary cross-entropy of logits': {
    loss: (p, t, reduction) => loss.binaryCrossEntropy(p, t, { reduction }),
    plain: each((p, t) => Math.max(p, 0) - p * t + Math.log1p(Math.exp(-Math.abs(p)))),
    p: small,
    t: shares,
  },
  'binary cross-entropy of probabilities': {
    loss: (p, t, reduction) => loss.binaryCrossEntropy(p, t, { reduction, fromLogits: false }),
    plain: each((p, t) => -(t * Math.log(p) + (1 - t) * Math.log1p(-p))),
    p: chances,
    t: shares,
  },
  'softmax cross-entropy': {
    loss: (p, t, reduction) => loss.softmaxCrossEntropy(p, t, { reduction }),
    plain: eachRow((p, t) => total(t.map((share, k) => (share === 0 ? 0 : share * (logSum(p) - p[k]))))),
    p: small,
    t: shares,
  },
  'softmax cross-entropy, smoothed': {
    loss: (p, t, reduction) => loss.softmaxCrossEntropy(p, t, { reduction, labelSmoothing: 0.1 }),
    plain: eachRow((p, t) => total(t.map((share, k) => (share * 0.9 + 0.1 / 3) * (logSum(p) - p[k])))),
    p: small,
    t: shares,
  },
  kl: {
    loss: (p, t, reduction) => loss.kl(p, t, { reduction }),
    plain: eachRow((p, t) => total(t.map((share, k) => (share === 0 ? 0 : share * (Math.log(share) - p[k]))))),
    p: small.map((row) => row.map((x) => -Math.abs(x))),
    t: shares,
  },
}; // prettier-ignore

function assertRounded(dtype: Narrow, found: kn.NDArray, exact: readonly number[], what: string): void {
  assert.equal(found.dtype, dtype, what);
  const values = [found.tolist()].flat(3) as number[];
  assert.equal(values.length, exact.length, what);
  values.forEach((value, i) => {
    const nearest = rounded(dtype, exact[i]);
    // What float32 has rounded on the way moves at most a tie.
    const slack = 0.5 * ulpOf(dtype, exact[i]) + 2 ** -20 * Math.abs(exact[i]);
    const isClose = value === nearest || Math.abs(value - exact[i]) <= slack;
    assert.ok(isClose, `${what}, element ${i}: ${value} instead of ${nearest}`);
  });
} // prettier-ignore

for (const dtype of ['float16', 'bfloat16'] as const) {
  for (const [name, { loss: apply, plain, p, t }] of Object.entries(cases)) {
    test(`${name} of ${dtype} is the exact one, rounded once`, () => {
      const exactly = (rows: Rows): Rows => rows.map((row) => row.map((x) => rounded(dtype, x)));
      const [ps, ts] = [exactly(p), exactly(t)];
      const [x, y] = [ps, ts].map((rows) => kn.array(rows as number[][], { dtype }));
      const losses = plain(ps, ts);
      for (const run of [apply, (...args: Parameters<Loss>) => kn.hybridize(apply)(...args)]) {
        assertRounded(dtype, run(x, y, 'none'), losses, 'none');
        assertRounded(dtype, run(x, y, 'sum'), [total(losses)], 'sum');
        assertRounded(dtype, run(x, y, 'mean'), [total(losses) / losses.length], 'mean');
      }
    });
  }

  test(`the gradient of a mean of squares of ${dtype} is there where the squares are too great`, () => {
    const p = kn.array([1000, -2000], { dtype });
    p.attachGrad();
    kn.autograd.record(() => loss.mse(p, kn.zerosLike(p), { reduction: 'none' })).backward();
    assert.deepEqual(p.grad!.tolist(), [2000, -4000]);
  });

  test(`cross-entropy of ${dtype} logits and labels`, () => {
    const logits = kn.array([[20, 10.5, 3]], { dtype });
    const labels = kn.array([1], { dtype: 'int32' });
    const exact = logSum([20, 10.5, 3]) - 10.5;
    assertRounded(dtype, loss.softmaxCrossEntropy(logits, labels), [exact], 'labels');
    const smoothed = 0.9 * exact + 0.1 * (logSum([20, 10.5, 3]) - 33.5 / 3);
    const found = loss.softmaxCrossEntropy(logits, labels, { labelSmoothing: 0.1 });
    assertRounded(dtype, found, [smoothed], 'smoothed');
  });

  test(`BatchNorm of ${dtype} has the statistics of float32`, () => {
    const norm = new kn.nn.BatchNorm();
    norm.initialize();
    const x = kn.array([[1000], [1008], [1016], [1016]], { dtype });
    const y = kn.autograd.record(() => norm.call(x));
    const exact = [-10, -2, 6, 6].map((d) => d / Math.sqrt(44 + 1e-5));
    (y.tolist() as number[][]).forEach(([value], i) => assert.ok(Math.abs(value - exact[i]) < 1e-5));
    assert.ok(Math.abs(Number(norm.runningMean.value.item()) - 101) < 1e-4);
  }); // prettier-ignore
}
