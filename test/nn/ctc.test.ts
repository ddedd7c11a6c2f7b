import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { differences } from '../front/support.js';
import { assertClose } from '../support/close.js';
import {
  arraysOf,
  type Batch,
  byEnumeration,
  expectedOf,
  flat,
  ints,
  type Loss,
  randomBatch,
  type Sizes,
  spelled,
} from './ctc-reference.js';

const { ctc } = kn.nn.loss;
const tolerance = 1e-10;

/** Losses, and the gradient of their sum over the examples that are possible. */
function run(loss: Loss, batch: Batch, sizes: Sizes): { losses: number[]; gradient: number[] } {
  const { logits, labels } = arraysOf(batch, sizes);
  logits.attachGrad();
  const lengths = [batch.inputLengths, batch.labelLengths].map((given) =>
    kn.array(Int32Array.from(given)),
  );
  const losses = kn.autograd.record(() => loss(logits, labels, lengths[0], lengths[1]));
  losses.backward();
  return { losses: flat(losses), gradient: flat(logits.grad!) };
}

const shapes: readonly Sizes[] = [
  { batch: 6, time: 5, most: 3, classes: 3, blank: 0 },
  { batch: 5, time: 4, most: 4, classes: 2, blank: 1 },
  { batch: 4, time: 5, most: 2, classes: 4, blank: 2 },
  { batch: 3, time: 1, most: 2, classes: 3, blank: 0 },
  { batch: 3, time: 3, most: 0, classes: 2, blank: 0 },
  { batch: 3, time: 0, most: 2, classes: 3, blank: 1 },
  { batch: 2, time: 0, most: 0, classes: 2, blank: 0 },
  { batch: 0, time: 3, most: 2, classes: 3, blank: 0 },
  { batch: 1, time: 4, most: 1, classes: 2, blank: 0 },
];

for (const layout of ['NTC', 'TNC'] as const) {
  for (const how of ['eager', 'captured', 'captured for all sizes']) {
    test(`losses and gradients are those of all alignments written down: ${layout}, ${how}`, () => {
      let isImpossible = false;
      shapes.forEach((sizes, index) => {
        const plain: Loss = (logits, labels, inputLengths, labelLengths) =>
          ctc(layout === 'TNC' ? logits.swapaxes(0, 1) : logits, labels, {
            inputLengths,
            labelLengths,
            blank: sizes.blank,
            layout,
            reduction: 'none',
          });
        const dynamic = [['n', 't', null], ['n', 'm'], ['n'], ['n']];
        const loss =
          how === 'eager' ? plain : kn.hybridize(plain, how === 'captured' ? {} : { dynamic });
        for (let seed = 0; seed < 3; seed++) {
          const batch = randomBatch(sizes, 10 * index + seed);
          const expected = expectedOf(batch);
          const { losses, gradient } = run(loss, batch, sizes);
          assertClose(losses, expected.losses, tolerance, `losses of ${JSON.stringify(batch)}`);
          assertClose(gradient, expected.gradient.flat(2), tolerance, `gradients of ${seed}`);
          isImpossible ||= expected.losses.includes(Infinity);
        }
      });
      assert.ok(isImpossible, 'no impossible alignment was among them');
    });
  }
}

const examples: readonly (readonly [name: string, path: number[][], labels: number[]])[] = [
  ['labels in a row', [[1, 2, 3]], [1, 2, 3]],
  ['the same label twice, a blank between', [[1, 0, 1]], [1, 1]],
  ['one label for several steps', [[0, 2, 2, 0], [2, 2, 2, 2]], [2]],
  ['no labels at all', [[0, 0]], []],
]; // prettier-ignore

for (const [name, paths, labels] of examples) {
  test(`certain steps cost nothing: ${name}`, () => {
    for (const path of paths) {
      assert.deepEqual(spelled(path, 0), labels);
      const logits = kn.oneHot(ints(path), 4, { dtype: 'float64' }).mul(1e4).expandDims(0);
      const given = kn.array(Int32Array.from(labels), { shape: [1, labels.length] });
      assert.equal(ctc(logits, given).item(), 0);
    }
  });
}

test('labels that do not fit cost Infinity, or nothing, and have no gradient', () => {
  // Two equal labels need three steps; one step has room for one label; no step for none.
  const labels = ints([[1, 1], [1, 2], [1, 9], [8, 9], [1, 2]]); // prettier-ignore
  const options = {
    inputLengths: [2, 1, 0, 0, 2],
    labelLengths: [2, 2, 1, 0, 2],
    reduction: 'none',
  } as const;
  const possible = -2 * Math.log(1 / 3);
  for (const zeroInfinity of [false, true]) {
    const f = (x: kn.NDArray): kn.NDArray => ctc(x, labels, { ...options, zeroInfinity });
    const none = zeroInfinity ? 0 : Infinity;
    for (const each of [f, kn.hybridize(f)]) {
      const logits = kn.zeros([5, 2, 3]);
      logits.attachGrad();
      const losses = kn.autograd.record(() => each(logits));
      losses.backward();
      assertClose(flat(losses), [none, none, none, 0, possible], 1e-6);
      const rows = logits.grad!.tolist() as number[][][];
      for (const row of rows.slice(0, 4)) assert.deepEqual(row.flat(), [0, 0, 0, 0, 0, 0]);
      assertClose(rows[4].flat(), [1 / 3, -2 / 3, 1 / 3, 1 / 3, 1 / 3, -2 / 3], 1e-6);
    }
  }
});

test('classes that are ruled out by -Infinity make no NaN, nor do logits of hundreds', () => {
  const logits = [[-Infinity, 2, 1], [1, -Infinity, 300], [-250, 0.5, -Infinity], [0, 0, -Infinity]]; // prettier-ignore
  const batch = { logits: [logits], labels: [[1, 2]], inputLengths: [4], labelLengths: [2] };
  for (const dtype of ['float32', 'float64'] as const) {
    for (const hybridized of [false, true]) {
      const plain: Loss = (x, labels) => ctc(x.astype(dtype), labels, { reduction: 'none' });
      const sizes = { batch: 1, time: 4, most: 2, classes: 3, blank: 0 };
      const given = { ...batch, blank: 0, classes: 3 };
      const { losses, gradient } = run(hybridized ? kn.hybridize(plain) : plain, given, sizes);
      const expected = byEnumeration(logits, [1, 2], 0, 3);
      assertClose(losses, [expected.loss], 1e-6);
      assertClose(gradient, expected.gradient.flat(), 1e-6);
    }
  }
});

test('long sequences keep their precision, where probabilities are far below the smallest number', () => {
  // With uniform logits every alignment has the same probability: count alignments exactly.
  const [time, count, classes] = [400, 20, 5];
  const labels = Array.from({ length: count }, (_, k) => 1 + (k % (classes - 1)));
  const ways = Array.from({ length: 2 * count + 1 }, (_, s) => (s < 2 ? 1n : 0n));
  for (let t = 1; t < time; t++) {
    for (let s = ways.length - 1; s > 0; s--) {
      ways[s] += ways[s - 1] + (s % 2 === 1 && s > 1 ? ways[s - 2] : 0n);
    }
  }
  const digits = String(ways.at(-1)! + ways.at(-2)!);
  const logarithm = Math.log(Number(`0.${digits}`)) + digits.length * Math.LN10;
  const expected = time * Math.log(classes) - logarithm;
  for (const [dtype, tolerance] of [['float64', 1e-12], ['float32', 1e-5]] as const) {
    const logits = kn.zeros([1, time, classes], { dtype });
    logits.attachGrad();
    const loss = kn.autograd.record(() => ctc(logits, ints([labels])));
    loss.backward();
    assertClose([Number(loss.item())], [expected], tolerance);
    // The gradients of each step add up to nothing, and those of all steps name each label's share.
    const sums = logits.grad!.sum(-1).abs().max().item();
    assert.ok(Number(sums) < 1e-4, String(sums));
  } // prettier-ignore
});

test('half precision is computed in float32', () => {
  const logits = kn.random.normal([2, 40, 3]).astype('float16');
  const labels = ints([[1, 2], [2, 2]]); // prettier-ignore
  const loss = ctc(logits, labels);
  assert.equal(loss.dtype, 'float32');
  assert.equal(loss.item(), ctc(logits.astype('float32'), labels).item());
});

test('labels and lengths may have any integer dtype, and lengths be plain numbers', () => {
  const logits = kn.random.normal([2, 5, 4], { dtype: 'float64' });
  const [labels, inputLengths, labelLengths] = [[[1, 2], [3, 0]], [5, 4], [2, 1]]; // prettier-ignore
  const expected = ctc(logits, ints(labels), { inputLengths, labelLengths }).item();
  for (const dtype of ['int8', 'uint8', 'int32', 'int64'] as const) {
    const [given, steps, counts] = [labels, inputLengths, labelLengths].map((values) =>
      kn.array(values, { dtype }),
    );
    const loss = ctc(logits, given, { inputLengths: steps, labelLengths: counts });
    assert.equal(loss.item(), expected);
  }
});

test('mean is the mean over examples', () => {
  const logits = kn.random.normal([3, 6, 4], { dtype: 'float64' });
  const labels = ints([[1, 2, 3], [3, 3, 1], [2, 1, 1]]); // prettier-ignore
  const labelLengths = [3, 1, 2];
  const losses = flat(ctc(logits, labels, { labelLengths, reduction: 'none' }));
  const sum = losses.reduce((a, b) => a + b, 0);
  const found = (['mean', 'sum'] as const).map((reduction) =>
    Number(ctc(logits, labels, { labelLengths, reduction }).item()),
  );
  assertClose(found, [sum / 3, sum], tolerance);
  assertClose([Number(ctc(logits, labels, { labelLengths }).item())], [sum / 3], tolerance);
});

for (const hybridized of [false, true]) {
  test(`gradients and gradients of gradients are those of differences: ${hybridized ? 'captured' : 'eager'}`, () => {
    kn.random.seed(4);
    const shape = [2, 4, 3];
    const labels = ints([[1, 1], [2, 0]]); // prettier-ignore
    const options = { inputLengths: [4, 3], labelLengths: [2, 1] };
    const plain = (x: kn.NDArray): kn.NDArray => ctc(x.reshape(shape), labels, options);
    const f = hybridized ? kn.hybridize(plain) : plain;
    const slope = (x: kn.NDArray): kn.NDArray => kn.grad(f)(x).mul(kn.arange(24).cos()).sum();
    for (const x of [kn.random.normal([24], { dtype: 'float64' }), kn.zeros([24], { dtype: 'float64' })]) {
      const at = flat(x);
      assertClose(flat(kn.grad(f)(x)), differences(f, at), 1e-7);
      assertClose(flat(kn.grad(slope)(x)), differences(slope, at), 1e-6);
    } // prettier-ignore
  });
}
