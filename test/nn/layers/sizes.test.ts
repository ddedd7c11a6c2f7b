import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near } from '../../front/support.js';

/*
 * No layer may depend on the size of a batch, nor on a length that its weights do not depend on: a
 * hybridized layer that meets ever new ones settles on graphs that serve them all.
 */

const { autograd, nn } = kn;

interface Case {
  readonly make: () => kn.nn.HybridBlock;
  /** Arguments for a batch of n and a length of t. */
  readonly args: (n: number, t: number) => readonly unknown[];
  /** The free axes of each array among the arguments. */
  readonly dynamic: kn.DynamicAxes;
}

const normal = (shape: readonly number[]): kn.NDArray => {
  const x = kn.random.normal(shape);
  x.attachGrad();
  return x;
};

const symbols = (shape: readonly number[]): kn.NDArray => kn.random.randint(0, 7, shape);

/** A layer of one array. */
const unary = (
  make: () => kn.nn.HybridBlock,
  shape: (n: number, t: number) => readonly number[],
  axes: readonly (string | null)[],
): Case => ({ make, args: (n, t) => [normal(shape(n, t))], dynamic: [axes] });

const cell = (
  make: () => kn.nn.LSTMCell | kn.nn.GRUCell | kn.nn.RNNCell,
  states: number,
): Case => ({
  make,
  args: (n) => [normal([n, 3]), Array.from({ length: states }, () => normal([n, 2]))],
  dynamic: [['n'], ...Array.from({ length: states }, () => ['n'])],
});

const cases: Readonly<Record<string, Case>> = {
  Dense: unary(() => new nn.Dense(4, { activation: 'tanh' }), (n, t) => [n, t, 3], ['n', 't']),
  'Dense that flattens': unary(() => new nn.Dense(4, { flatten: true }), (n) => [n, 2, 3], ['n']),
  Lambda: unary(() => new nn.Sequential('relu', (x) => x.mul(2)), (n, t) => [n, t], ['n', 't']),
  Conv1d: unary(() => new nn.Conv1d(3, 3, { padding: 1 }), (n, t) => [n, 2, t], ['n', null, 't']),
  Conv2d: unary(() => new nn.Conv2d(4, [3, 2], { groups: 2, padding: 1 }), (n, t) => [n, 2, t, 5], ['n', null, 't']),
  'Conv2d with strides': unary(() => new nn.Conv2d(3, 3, { strides: 2 }), (n) => [n, 2, 7, 6], ['n']),
  Conv3d: unary(() => new nn.Conv3d(2, 2), (n, t) => [n, 2, t, 4, 3], ['n', null, 't']),
  ConvTranspose2d: unary(() => new nn.ConvTranspose2d(3, 3, { strides: 2 }), (n, t) => [n, 2, t, 4], ['n', null, 't']),
  MaxPool2d: unary(() => new nn.MaxPool2d(2), (n, t) => [n, 2, 2 * t, 6], ['n', null, 't']),
  AvgPool2d: unary(() => new nn.AvgPool2d(3, { strides: 1, padding: 1 }), (n, t) => [n, 2, t, 5], ['n', null, 't']),
  AdaptiveAvgPool2d: unary(() => new nn.AdaptiveAvgPool2d([3, null]), (n, t) => [n, 2, t, 5], ['n', null, 't']),
  AdaptiveMaxPool2d: unary(() => new nn.AdaptiveMaxPool2d([3, 2]), (n, t) => [n, 2, t, 5], ['n', null, 't']),
  GlobalAvgPool2d: unary(() => new nn.GlobalAvgPool2d(), (n, t) => [n, 3, t, 5], ['n', null, 't']),
  BatchNorm: unary(() => new nn.BatchNorm(), (n, t) => [n, 2, t, 3], ['n', null, 't']),
  'BatchNorm of the last axis': unary(() => new nn.BatchNorm({ axis: -1 }), (n, t) => [n, t, 3], ['n', 't']),
  LayerNorm: unary(() => new nn.LayerNorm(), (n, t) => [n, t, 5], ['n', 't']),
  RMSNorm: unary(() => new nn.RMSNorm(), (n, t) => [n, t, 5], ['n', 't']),
  GroupNorm: unary(() => new nn.GroupNorm(2), (n, t) => [n, 4, t], ['n', null, 't']),
  InstanceNorm: unary(() => new nn.InstanceNorm(), (n, t) => [n, 4, t], ['n', null, 't']),
  Dropout: unary(() => new nn.Dropout(0.3), (n, t) => [n, t, 5], ['n', 't']),
  Embedding: { make: () => new nn.Embedding(7, 3), args: (n, t) => [symbols([n, t])], dynamic: [['n', 't']] },
  MultiHeadAttention: unary(() => new nn.MultiHeadAttention(4, 2), (n, t) => [n, t, 4], ['n', 't']),
  'MultiHeadAttention of two sequences': {
    make: () => new nn.MultiHeadAttention(4, 2),
    args: (n, t) => [normal([n, t, 4]), normal([n, t + 13, 4])],
    dynamic: [['n', 't'], ['n', 's']],
  },
  TransformerEncoderLayer: unary(() => new nn.TransformerEncoderLayer(4, 2), (n, t) => [n, t, 4], ['n', 't']),
  RNNCell: cell(() => new nn.RNNCell(2), 1),
  LSTMCell: cell(() => new nn.LSTMCell(2), 2),
  GRUCell: cell(() => new nn.GRUCell(2), 1),
  'a network': unary(
    () => new nn.Sequential(new nn.Conv2d(3, 3, { padding: 1 }), new nn.BatchNorm(), 'relu', new nn.MaxPool2d(2), new nn.Dense(4, { flatten: true }), new nn.Dropout(0.5), new nn.Dense(2)),
    (n) => [n, 2, 6, 4],
    ['n'],
  ),
}; // prettier-ignore

/** Batches and lengths; the first three are those that a network is traced for. */
const sizes = [[2, 6], [3, 9], [4, 7], [5, 12], [8, 6], [6, 11], [3, 14]] as const; // prettier-ignore

const arraysIn = (value: unknown): kn.NDArray[] => {
  if (value instanceof kn.NDArray) return [value];
  return Array.isArray(value) ? value.flatMap(arraysIn) : [];
};

/** What one call gives, leaves behind, and passes back. */
function observe(
  net: kn.nn.HybridBlock,
  { args }: Case,
  size: readonly [number, number],
  isTraining: boolean,
): unknown[] {
  kn.random.seed(30 + size[0]);
  const given = args(...size);
  const [results, loss] = autograd.record(
    () => {
      const ys = arraysIn(net.call(...(given as never[])));
      const losses = ys.map((y, i) =>
        y
          .square()
          .sum()
          .mul(1 + i),
      );
      return [ys, losses.reduce((a, b) => a.add(b))] as const;
    },
    { trainMode: isTraining },
  );
  loss.backward();
  const parameters = [...net.parameters().values()];
  return [
    results.map((y) => y.tolist()),
    arraysIn(given).map((x) => x.grad?.tolist() ?? []),
    parameters.map(({ value, grad }) => [value.tolist(), grad?.tolist() ?? []]),
    Number(kn.random.getState().counter),
  ];
}

/** The same layer twice: as it is and hybridized, with equal weights. */
function twins(
  { make }: Case,
  options: kn.HybridizeOptions,
): readonly [kn.nn.HybridBlock, kn.nn.HybridBlock] {
  const [eager, captured] = [1, 2].map(() => {
    kn.random.seed(9);
    return make().initialize();
  });
  return [eager, captured.hybridize(options)];
}

for (const [name, each] of Object.entries(cases)) {
  for (const isTraining of [true, false]) {
    const kind = isTraining ? 'training' : 'predicting';
    test(`${name}, ${kind}: after three sizes, one graph serves all`, () => {
      const [eager, captured] = twins(each, {});
      sizes.forEach((size, call) => {
        const actual = observe(captured, each, size, isTraining);
        near(actual, observe(eager, each, size, isTraining), 1e-4);
        assert.equal(captured.explain().traces.length, Math.min(call + 1, 3), String(captured.explain())); // prettier-ignore
      });
    });
  }

  test(`${name}: the first call finds sizes of weights for a graph of all sizes`, () => {
    const [eager, captured] = twins(each, { dynamic: each.dynamic });
    for (const isTraining of [true, false]) {
      for (const size of sizes) {
        const actual = observe(captured, each, size, isTraining);
        near(actual, observe(eager, each, size, isTraining), 1e-4);
      }
    }
    assert.ok(captured.explain().traces.length <= 2, String(captured.explain()));
  });

  test(`${name}: batches of one and of none`, () => {
    const [eager, captured] = twins(each, { dynamic: each.dynamic });
    for (const size of [
      [3, 8],
      [1, 8],
      [3, 6],
    ] as const) {
      // prettier-ignore
      near(observe(captured, each, size, false), observe(eager, each, size, false), 1e-4);
    }
  });
}

test('an axis that weights depend on may be named too: the first call decides its size', () => {
  const net = new nn.Dense(4).initialize().hybridize({ dynamic: [['n', 'c']] });
  for (const n of [2, 5]) assert.deepEqual(net.call(kn.ones([n, 3])).shape, [n, 4]);
  assert.throws(() => net.call(kn.ones([2, 5])), kn.ShapeError);
  assert.equal(net.explain().traces.length, 1, String(net.explain()));
});
