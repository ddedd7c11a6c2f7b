import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { assertClose } from '../support/close.js';

const { loss } = kn.nn;
const value = (x: kn.NDArray): number => Number(x.item());
const logits = [[1, 2, 0.5], [-1, 0, 3]]; // prettier-ignore

/** -log softmax(row)[label], in plain numbers. */
const crossEntropy = (row: readonly number[], label: number): number =>
  Math.log(row.reduce((sum, x) => sum + Math.exp(x), 0)) - row[label];

test('softmaxCrossEntropy of labels, probabilities and along another axis', () => {
  const expected = [crossEntropy(logits[0], 2), crossEntropy(logits[1], 0)];
  const x = kn.array(logits);
  const labels = kn.array([2, 0], { dtype: 'int32' });
  assertClose(
    loss.softmaxCrossEntropy(x, labels, { reduction: 'none' }).tolist() as number[],
    expected,
  );
  assertClose([value(loss.softmaxCrossEntropy(x, labels))], [(expected[0] + expected[1]) / 2]);
  assertClose([value(loss.softmaxCrossEntropy(x, kn.array([[0, 0, 1], [1, 0, 0]]), { reduction: 'sum' }))], [expected[0] + expected[1]]); // prettier-ignore
  assertClose(
    [value(loss.softmaxCrossEntropy(x.transpose(), labels, { axis: 0 }))],
    [(expected[0] + expected[1]) / 2],
  );
});

test('softmaxCrossEntropy with label smoothing mixes in the uniform distribution', () => {
  const uniform = [0, 1, 2].reduce((sum, label) => sum + crossEntropy(logits[0], label) / 3, 0);
  const expected = 0.9 * crossEntropy(logits[0], 2) + 0.1 * uniform;
  const x = kn.array([logits[0]]);
  assertClose(
    [
      value(
        loss.softmaxCrossEntropy(x, kn.array([2], { dtype: 'int32' }), { labelSmoothing: 0.1 }),
      ),
    ],
    [expected],
  );
  assertClose(
    [value(loss.softmaxCrossEntropy(x, kn.array([[0, 0, 1]]), { labelSmoothing: 0.1 }))],
    [expected],
  );
  assert.throws(
    () => loss.softmaxCrossEntropy(x, kn.array([[0, 0, 1]]), { labelSmoothing: 1 }),
    kn.ArgumentError,
  );
});

test('softmaxCrossEntropy survives logits that overflow the exponential', () => {
  assertClose(
    [value(loss.softmaxCrossEntropy(kn.array([[1e4, 0]]), kn.array([1], { dtype: 'int32' })))],
    [1e4],
  );
});

test('regression losses follow their formulas', () => {
  const [p, t] = [kn.array([1, 2, 5]), kn.array([1.5, 2, 2])];
  assertClose([value(loss.mse(p, t))], [(0.25 + 0 + 9) / 3]);
  assertClose([value(loss.l1(p, t))], [(0.5 + 0 + 3) / 3]);
  assertClose(loss.huber(p, t, { reduction: 'none' }).tolist() as number[], [0.125, 0, 2.5]);
  assert.throws(() => loss.mse(p, kn.zeros([2])), kn.ShapeError);
});

test('binaryCrossEntropy of logits and of probabilities agree, and are stable', () => {
  const x = [-2, 0, 3];
  const t = [0, 1, 1];
  const expected = x.map((z, i) => Math.log1p(Math.exp(z)) - z * t[i]);
  const targets = kn.array(t);
  assertClose(
    loss.binaryCrossEntropy(kn.array(x), targets, { reduction: 'none' }).tolist() as number[],
    expected,
  );
  assertClose(
    loss
      .binaryCrossEntropy(kn.sigmoid(kn.array(x)), targets, {
        fromLogits: false,
        reduction: 'none',
      })
      .tolist() as number[],
    expected,
  );
  assertClose(
    loss
      .binaryCrossEntropy(kn.array([-1000, 1000]), kn.array([1, 0]), { reduction: 'none' })
      .tolist() as number[],
    [1000, 1000],
  );
});

test('kl ignores what the target rules out', () => {
  const target = [0.5, 0.5, 0];
  const logs = [0.2, 0.3, 0.5].map(Math.log);
  const expected = 0.5 * (Math.log(0.5) - logs[0]) + 0.5 * (Math.log(0.5) - logs[1]);
  assertClose([value(loss.kl(kn.array([logs]), kn.array([target])))], [expected]);
});

/** A loss of n rows of 4 classes, and targets for it. */
const sized: Readonly<
  Record<string, readonly [(p: kn.NDArray, t: kn.NDArray) => kn.NDArray, (n: number) => kn.NDArray]>
> = {
  mse: [loss.mse, (n) => kn.random.normal([n, 4])],
  l1: [loss.l1, (n) => kn.random.normal([n, 4])],
  huber: [loss.huber, (n) => kn.random.normal([n, 4])],
  binaryCrossEntropy: [loss.binaryCrossEntropy, (n) => kn.random.uniform([n, 4])],
  kl: [(p, t) => loss.kl(p.logSoftmax(), t), (n) => kn.random.normal([n, 4]).softmax()],
  'softmaxCrossEntropy of labels': [loss.softmaxCrossEntropy, (n) => kn.random.randint(0, 4, [n])],
  'softmaxCrossEntropy of probabilities': [
    loss.softmaxCrossEntropy,
    (n) => kn.random.normal([n, 4]).softmax(),
  ],
  'ctc of one step for one label': [
    (p, t) => loss.ctc(p.expandDims(1), t.expandDims(1)),
    (n) => kn.random.randint(1, 4, [n]),
  ],
  'smoothed softmaxCrossEntropy of labels': [
    (p, t) => loss.softmaxCrossEntropy(p, t, { labelSmoothing: 0.1 }),
    (n) => kn.random.randint(0, 4, [n]),
  ],
};

for (const [name, [lossOf, targets]] of Object.entries(sized)) {
  test(`${name}: after three batches, one graph serves batches of all sizes`, () => {
    const f = kn.hybridize(lossOf);
    for (const n of [2, 3, 5, 4, 7, 9]) {
      kn.random.seed(n);
      const t = targets(n);
      const p = kn.random.normal([n, 4]);
      const [actual, expected] = [f, lossOf].map((each) => {
        p.attachGrad();
        const y = kn.autograd.record(() => each(p, t));
        y.backward();
        return [value(y), ...(p.grad!.tolist() as number[][]).flat()];
      });
      assertClose(actual, expected);
    }
    assert.equal(f.explain().traces.length, 3, String(f.explain()));
  });
}

test('captured losses refuse targets of another size, whatever the sizes were before', () => {
  for (const options of [{}, { dynamic: [['n'], ['m']] }]) {
    const f = kn.hybridize((p: kn.NDArray, t: kn.NDArray) => loss.mse(p, t), options);
    for (const n of [2, 3, 4, 5]) {
      assert.throws(() => f(kn.ones([n]), kn.ones([n + 1])), (error) =>
        error instanceof kn.ShapeError && error.op === 'mse' && error.actual === `[${n + 1}]`,
      ); // prettier-ignore
    }
  }
});
