import * as kn from '../../src/index.js';

/** A graph, and feeds of several sizes. */
export interface Case {
  readonly graph: kn.StaticGraph;
  readonly feeds: readonly Readonly<Record<string, kn.NDArray>>[];
  /** Whether it changes its own state. */
  readonly train?: boolean;
}

/** Feeds by the names that a graph gives its inputs. */
function named(graph: kn.StaticGraph, arrays: readonly kn.NDArray[]): Record<string, kn.NDArray> {
  return Object.fromEntries(graph.inputNames.map((name, i) => [name, arrays[i]]));
}

function captured<A extends kn.NDArray[]>(
  fn: (...args: A) => unknown,
  examples: readonly A[],
  dynamic?: readonly (readonly (string | null)[] | null)[],
): Case {
  const hybrid = kn.hybridize(fn, dynamic === undefined ? {} : { dynamic });
  const graph = hybrid.graphFor(...examples[0]);
  return { graph, feeds: examples.map((arrays) => named(graph, arrays)) };
}

const { normal } = kn.random;

/** Graphs of many kinds, made anew for each test, with values that a seed decides. */
export const corpus: Readonly<Record<string, () => Case>> = {
  'a network': () => {
    const net = new kn.nn.Sequential(
      new kn.nn.Dense(16, { activation: 'relu' }),
      new kn.nn.LayerNorm(),
      new kn.nn.Dense(3),
    ).initialize();
    return captured((x: kn.NDArray) => net.call(x).softmax(), [[normal([5, 8])]]);
  },
  'a network for any batch': () => {
    const net = new kn.nn.Sequential(
      new kn.nn.Dense(9, { activation: 'tanh' }),
      new kn.nn.Dense(4),
    ).initialize();
    const batches = [3, 0, 1, 7, 40].map((n): [kn.NDArray] => [normal([n, 6])]);
    return captured((x: kn.NDArray) => net.call(x), batches, [['n', null]]);
  },
  'a convolutional network': () => {
    const net = new kn.nn.Sequential(
      new kn.nn.Conv2d(4, 3, { padding: 1, activation: 'relu' }),
      new kn.nn.BatchNorm(),
      new kn.nn.MaxPool2d(2),
      new kn.nn.Conv2d(3, 3),
      new kn.nn.GlobalAvgPool2d(),
    ).initialize();
    return captured((x: kn.NDArray) => net.call(x), [[normal([2, 3, 9, 8])]]);
  },
  'an LSTM for any length': () => {
    const cell = new kn.nn.LSTMCell(6);
    cell.initialize();
    const run = (x: kn.NDArray): unknown =>
      kn.foreach((slice, states) => cell.call(slice, states), x, cell.beginState(2));
    const lengths = [4, 0, 1, 9].map((length): [kn.NDArray] => [normal([length, 2, 5])]);
    return captured(run, lengths, [['time', null, null]]);
  },
  'loops and branches': () =>
    captured(
      (x: kn.NDArray, n: kn.NDArray) => {
        const [rows, [, last], iterations] = kn.whileLoop(
          (k: kn.NDArray) => k.less(n),
          (k: kn.NDArray, s: kn.NDArray) => [s, [k.add(1), s.mul(1.5).tanh()]],
          [kn.array(0, { dtype: 'int32' }), x],
          { maxIterations: 6, padded: true },
        );
        const branch = kn.cond(x.sum().greater(0), () => x.exp(), () => x.neg()); // prettier-ignore
        return { rows, last, iterations, branch };
      },
      [0, 4, 9].map((n): [kn.NDArray, kn.NDArray] => [
        normal([3]),
        kn.array(n, { dtype: 'int32' }),
      ]),
    ),
  attention: () =>
    captured(
      (x: kn.NDArray) => {
        const scores = x.matmul(x.transpose()).div(2).softmax();
        return scores.matmul(x);
      },
      [3, 1, 17].map((n): [kn.NDArray] => [normal([n, 4])]),
      [['n', null]],
    ),
  'positions, truth values and integers': () =>
    captured(
      (table: kn.NDArray, at: kn.NDArray, mask: kn.NDArray) => ({
        taken: table.take(at, { axis: 0 }),
        chosen: kn.where(mask, at, at.neg()),
        none: mask.logicalNot(),
        sorted: kn.argsort(table, 0),
      }),
      [
        [
          normal([5, 3]),
          kn.array([4, 0, 2], { dtype: 'int64' }),
          kn.array([true, false, true], { dtype: 'bool' }),
        ],
      ],
    ),
  'halves and doubles': () =>
    captured(
      (half: kn.NDArray, brain: kn.NDArray, double: kn.NDArray, byte: kn.NDArray) => ({
        half: half.mul(2),
        brain: brain.exp(),
        double: double.sum(0),
        byte: byte.add(byte),
      }),
      [
        [
          normal([7]).astype('float16'),
          normal([7]).astype('bfloat16'),
          normal([3, 2]).astype('float64'),
          kn.array([1, 2, 200], { dtype: 'uint8' }),
        ],
      ],
    ),
  'outputs that are inputs, constants, and one another': () =>
    captured(
      (x: kn.NDArray, y: kn.NDArray) => {
        const sum = x.add(y);
        return { x, flat: x.reshape([6]), sum, again: sum, three: kn.full([2], 3), y };
      },
      [[normal([2, 3]), normal([])]],
    ),
  'a training step': () => {
    const net = new kn.nn.Sequential(
      new kn.nn.Dense(8, { activation: 'tanh' }),
      new kn.nn.BatchNorm(),
      new kn.nn.Dropout(0.3),
      new kn.nn.Dense(2),
    ).initialize();
    const batches = [1, 2, 3].map((): [kn.NDArray, kn.NDArray] => [
      normal([4, 3]),
      kn.array([0, 1, 1, 0], { dtype: 'int32' }),
    ]);
    net.call(batches[0][0]);
    const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.01 });
    const step = (x: kn.NDArray, y: kn.NDArray): kn.NDArray => {
      const loss = kn.autograd.record(() => kn.nn.loss.softmaxCrossEntropy(net.call(x), y));
      loss.backward();
      optimizer.step();
      return loss;
    };
    return { ...captured(step, batches), train: true };
  },
};
