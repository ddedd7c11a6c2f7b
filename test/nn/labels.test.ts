import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { assertClose } from '../support/close.js';
import { refuses } from '../front/support.js';

/* Labels that are no classes, labels that do not count, and weights of classes. */

const { softmaxCrossEntropy } = kn.nn.loss;
type Options = kn.nn.loss.CrossEntropyOptions;

const rows = [[1, -2, 0.5], [0, 3, -1], [2, 2, -4], [0.25, 0, 1]]; // prettier-ignore
const int = (values: readonly unknown[], dtype: kn.DType = 'int32'): kn.NDArray =>
  kn.array(values as number[], { dtype });
const labels = int([2, 1, -100, 0]);
const weight = [1, 2, 0.5];

/**
 * torch 2.15: F.cross_entropy(torch.tensor(rows), torch.tensor([2, 1, -100, 0]), ignore_index=-100,
 * weight=torch.tensor([1., 2., 0.5]) or None, label_smoothing=0 or 0.1, reduction='none' and 'mean', and the
 * gradient of the mean.
 */
const published: readonly (readonly [Options, readonly number[], number, readonly number[]])[] = [
  [
    {},
    [1.0045969486, 0.0658839121, 0, 1.3598992825],
    0.8101267219,
    [0.2012496, 0.0100196, -0.2112693, 0.0155375, -0.0212535, 0.0057159, 0, 0, 0, -0.2477711, 0.0666359, 0.1811352],
  ],
  [
    { weight },
    [0.5022984743, 0.1317678243, 0, 1.3598992825],
    0.569704473,
    [0.0862499, 0.0042941, -0.090544, 0.0266358, -0.0364345, 0.0097988, 0, 0, 0, -0.2123753, 0.0571165, 0.1552588],
  ],
  [
    { labelSmoothing: 0.1 },
    [1.0712636709, 0.2992172837, 0, 1.3432326317],
    0.9045711756,
    [0.1901385, -0.0010915, -0.189047, 0.0044264, 0.0009687, -0.0053952, 0, 0, 0, -0.2255489, 0.0555248, 0.1700241],
  ],
  [
    { weight, labelSmoothing: 0.1 },
    [0.7192716599, 0.2929441869, 0, 1.3867309093],
    0.6854133606,
    [0.088226, -0.0141809, -0.0740451, 0.0160022, -0.0206307, 0.0046286, 0, 0, 0, -0.1921053, 0.0390208, 0.1530845],
  ],
]; // prettier-ignore

for (const [options, each, mean, gradient] of published) {
  for (const how of ['eager', 'captured', 'captured for all sizes']) {
    const name = `${JSON.stringify(options)}, ${how}`;
    test(`ignored labels and weights of classes do what they do in PyTorch: ${name}`, () => {
      const make = (x: kn.NDArray, y: kn.NDArray, reduction: Options['reduction']): kn.NDArray =>
        softmaxCrossEntropy(x, y, { ...options, ignoreIndex: -100, reduction: reduction! });
      // Weights say how many classes there are.
      const axes = options.weight === undefined ? ['rows', 'classes'] : ['rows'];
      const dynamic = how === 'captured' ? [] : [axes, ['rows']];
      const loss = how === 'eager' ? make : kn.hybridize(make, { dynamic });
      const x = kn.array(rows);
      x.attachGrad();
      assertClose(loss(x, labels, 'none').flatten().dataSync(), each, 1e-6);
      const sum = each.reduce((a, b) => a + b);
      assertClose(loss(x, labels, 'sum').flatten().dataSync(), [sum], 1e-6);
      kn.autograd.record(() => loss(x, labels, 'mean')).backward();
      assertClose(loss(x, labels, 'mean').flatten().dataSync(), [mean], 1e-6);
      assertClose(x.grad!.flatten().dataSync(), gradient, 1e-6);
    });
  }
}

test('weights and smoothing of probabilities divide by the number of examples', () => {
  // torch 2.15: F.cross_entropy(rows, p, weight=weight, label_smoothing=0.2)
  const p = kn.array([[0.2, 0.3, 0.5], [1, 0, 0], [0, 0.5, 0.5], [0.6, 0.4, 0]]); // prettier-ignore
  const options = { weight: kn.array(weight), labelSmoothing: 0.2 };
  assertClose(
    softmaxCrossEntropy(kn.array(rows), p, options).flatten().dataSync(),
    [2.3912048339],
    1e-6,
  );
  const ignored = { ignoreIndex: 0 };
  refuses(() => softmaxCrossEntropy(kn.array(rows), p, ignored), kn.ArgumentError, 'ignoreIndex');
});

test('weights belong to the classes, whatever axis these are on', () => {
  // torch 2.15: F.cross_entropy(x, torch.tensor([[2, 1]]), weight=weight), x of shape (1, 3, 2)
  const x = kn.array([[[0.5, 1], [2, -1], [0, 0]]]); // prettier-ignore
  const y = int([[2, 1]], 'int64');
  assertClose(
    softmaxCrossEntropy(x, y, { axis: 1, weight }).flatten().dataSync(),
    [2.3873560429],
    1e-6,
  );
});

test('where no example counts, the mean is NaN and gradients are zero, as in PyTorch', () => {
  for (const options of [{}, { weight }]) {
    const x = kn.array(rows);
    x.attachGrad();
    const loss = kn.autograd.record(() =>
      softmaxCrossEntropy(x, int([7, 7, 7, 7]), { ...options, ignoreIndex: 7 }),
    );
    assert.ok(Number.isNaN(loss.item()));
    loss.backward();
    assertClose(x.grad!.flatten().dataSync(), Array<number>(12).fill(0), 0);
  }
});

test('the label that is ignored may be a class', () => {
  const some = softmaxCrossEntropy(kn.array(rows), int([2, 1, 0, 0], 'uint8'), { ignoreIndex: 0 });
  const two = softmaxCrossEntropy(kn.array(rows).slice([0, 2]), int([2, 1]));
  assertClose(some.flatten().dataSync(), [Number(two.item())], 1e-6);
});

test('a NaN in the logits of an ignored example reaches nothing', () => {
  const x = kn.array([rows[0], [NaN, NaN, NaN]]);
  x.attachGrad();
  const loss = kn.autograd.record(() =>
    softmaxCrossEntropy(x, int([2, -1]), { ignoreIndex: -1, reduction: 'sum' }),
  );
  loss.backward();
  assertClose(loss.flatten().dataSync(), [published[0][1][0]], 1e-6);
});

const foreign: readonly (readonly [readonly number[], Options, string, string])[] = [
  [[0, -1, 5, 0], {}, 'label -1 at [1]', '0 to 2'],
  [[0, 1, 3, 0], {}, 'label 3 at [2]', '0 to 2'],
  [[0, -1, 2, 0], { labelSmoothing: 0.1 }, 'label -1 at [1]', '0 to 2'],
  [[0, 1, -100, 7], { ignoreIndex: -100 }, 'label 7 at [3]', '-100, which is ignored'],
  [[0, 1, 2, -100], { weight }, 'label -100 at [3]', '0 to 2'],
];

for (const [values, options, ...words] of foreign) {
  test(`labels that are no classes are refused: ${words[0]} ${JSON.stringify(options)}`, () => {
    const x = kn.array(rows);
    const eager = (dtype: kn.DType): unknown => softmaxCrossEntropy(x, int(values, dtype), options);
    for (const dtype of ['int32', 'int64', 'int8'] as const) {
      const error = refuses(() => eager(dtype), kn.ArgumentError, ...words);
      assert.equal(error.op, 'softmaxCrossEntropy');
    }
    const captured = kn.hybridize((a: kn.NDArray, y: kn.NDArray) =>
      softmaxCrossEntropy(a, y, options),
    );
    for (let i = 0; i < 3; i++) captured(x, int([0, 1, 2, 0]));
    refuses(() => captured(x, int(values)), kn.ArgumentError, ...words);
    const step = kn.hybridize((a: kn.NDArray, y: kn.NDArray) => {
      const loss = kn.autograd.record(() => softmaxCrossEntropy(a, y, options));
      loss.backward();
      return loss;
    });
    x.attachGrad();
    step(x, int([0, 1, 2, 0]));
    const before = x.grad!.tolist();
    refuses(() => step(x, int(values)), kn.ArgumentError, ...words);
    assert.deepEqual(x.grad!.tolist(), before);
  });
}

test('labels have the shape of the logits without the classes, and weights one entry a class', () => {
  const x = kn.array(rows);
  refuses(() => softmaxCrossEntropy(x, int([1])), kn.ShapeError, '[4]', '[1]');
  refuses(() => softmaxCrossEntropy(x, int([[0, 1, 2, 0]])), kn.ShapeError, '[4]', '[1, 4]');
  refuses(() => softmaxCrossEntropy(x, int([0, 1, 2, 0]), { weight: [1, 2] }), kn.ShapeError, '[3]', '[2]'); // prettier-ignore
  refuses(() => softmaxCrossEntropy(x, int([0, 1, 2, 0]), { axis: 2 }), kn.ShapeError, 'axis 2');
});

test('targets of kl that are no probabilities show in the loss', () => {
  const logs = kn.log(kn.array([0.5, 0.5]));
  for (const targets of [
    [-0.5, 1.5],
    [NaN, 1],
  ]) {
    // prettier-ignore
    // torch 2.15: F.kl_div(log(p), t, reduction='sum') is nan for both
    assert.ok(Number.isNaN(kn.nn.loss.kl(logs, kn.array(targets)).item()));
  }
  assertClose(
    kn.nn.loss
      .kl(logs, kn.array([0, 1]))
      .flatten()
      .dataSync(),
    [Math.LN2],
    1e-6,
  );
});

test('labels that were given as floats are told from probabilities of another shape', () => {
  const advice = (targets: kn.NDArray): string | undefined => {
    try {
      softmaxCrossEntropy(kn.array(rows), targets);
    } catch (error) {
      return error instanceof kn.ShapeError ? (error.advice ?? 'none') : undefined;
    }
    return undefined;
  };
  assert.match(advice(kn.array([2, 1, 0, 0]))!, /integers.*dtype: 'int32'/);
  assert.equal(advice(kn.ones([4, 2])), 'none');
});
