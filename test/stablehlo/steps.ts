import * as kn from '../../src/index.js';

const { autograd, nn, optim } = kn;

type Arrays = Readonly<Record<string, kn.NDArray>>;

/** A training step: captured whole, and the batches that it is given. */
export interface TrainingStep {
  readonly step: kn.Hybridized<(batch: Arrays) => kn.NDArray>;
  readonly batches: readonly Arrays[];
}

/** Rows of a batch: 8 devices divide them. */
const rows = 16;

const steps = 3;

/** Batches of random arrays; labels are integers. */
function batchesOf(make: () => Arrays): readonly Arrays[] {
  kn.random.seed(7);
  return Array.from({ length: steps }, () => {
    const batch = make();
    kn.compute(...Object.values(batch));
    return batch;
  });
}

/** A step of an optimizer, captured as one function. */
function stepOf(
  options: kn.HybridizeOptions,
  optimizer: kn.optim.Optimizer,
  loss: (batch: Arrays) => kn.NDArray,
): TrainingStep['step'] {
  return kn.hybridize((batch: Arrays) => {
    const result = autograd.record(() => loss(batch));
    result.backward();
    optimizer.step();
    return result;
  }, options);
}

const labels = (shape: readonly number[], classes: number): kn.NDArray =>
  kn.random.randint(0, classes, shape);

/** Axes of the examples in inputs of a step whose first axis is another one. */
export const batchAxes: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'LSTM with lengths and Adam': { x: 1 },
};

/** Whole training steps by name, captured with options. */
export const trainingSteps: Readonly<
  Record<string, (options: kn.HybridizeOptions) => TrainingStep>
> = {
  'MLP with dropout and Adam': (options) => {
    const batches = batchesOf(() => ({ x: kn.random.normal([rows, 24]), y: labels([rows], 8) }));
    const net = new nn.Sequential(
      new nn.Dense(32, { activation: 'relu' }),
      new nn.Dropout(0.25),
      new nn.Dense(8),
    ).initialize();
    net.call(batches[0].x);
    const optimizer = new optim.Adam(net.parameters(), { learningRate: 0.01 });
    return { step: stepOf(options, optimizer, ({ x, y }) => nn.loss.softmaxCrossEntropy(net.call(x), y).mean()), batches }; // prettier-ignore
  },
  'convolution with batch norm and SGD': (options) => {
    const batches = batchesOf(() => ({
      x: kn.random.normal([rows, 3, 6, 6]),
      y: labels([rows], 4),
    }));
    const net = new nn.Sequential(
      new nn.Conv2d(4, 3, { padding: 1, activation: 'relu' }),
      new nn.BatchNorm(),
      new nn.MaxPool2d(2),
      new nn.Conv2d(4, 3, { strides: 2, padding: 1 }),
      new nn.GlobalAvgPool2d(),
      new nn.Dense(4, { flatten: true }),
    ).initialize();
    net.call(batches[0].x);
    const optimizer = new optim.SGD(net.parameters(), { learningRate: 0.05, momentum: 0.9 });
    return { step: stepOf(options, optimizer, ({ x, y }) => nn.loss.softmaxCrossEntropy(net.call(x), y).mean()), batches }; // prettier-ignore
  },
  'LSTM and Adam': (options) => {
    const batches = batchesOf(() => ({ x: kn.random.normal([rows, 6, 8]), y: labels([rows], 4) }));
    class Net extends nn.HybridBlock {
      readonly lstm = new nn.LSTM(16);
      readonly head = new nn.Dense(4);
      forward(x: kn.NDArray): kn.NDArray {
        const [outputs] = this.lstm.call(x);
        return this.head.call(outputs.slice(':', -1));
      }
    }
    const net = new Net().initialize();
    net.call(batches[0].x);
    const optimizer = new optim.Adam(net.parameters(), { learningRate: 0.01 });
    return { step: stepOf(options, optimizer, ({ x, y }) => nn.loss.softmaxCrossEntropy(net.call(x), y).mean()), batches }; // prettier-ignore
  },
  'LSTM with lengths and Adam': (options) => {
    const time = 4;
    const batches = batchesOf(() => ({
      x: kn.random.normal([time, rows, 8]),
      lengths: kn.random.randint(0, time + 1, [rows]),
      y: labels([rows], 4),
    }));
    class Net extends nn.HybridBlock {
      readonly lstm = new nn.LSTM(8, {
        layers: 2,
        bidirectional: true,
        dropout: 0.2,
        layout: 'TNC',
      });
      readonly head = new nn.Dense(4);
      forward(x: kn.NDArray, lengths: kn.NDArray): kn.NDArray {
        const [outputs, [last]] = this.lstm.call(x, { lengths });
        const both = kn.concat(
          [outputs.mean(0), kn.swapaxes(last.slice([2, 4]), 0, 1).reshape([rows, 16])],
          1,
        );
        return this.head.call(both);
      }
    }
    const net = new Net().initialize();
    net.call(batches[0].x, batches[0].lengths);
    const optimizer = new optim.Adam(net.parameters(), { learningRate: 0.01 });
    return {
      step: stepOf(options, optimizer, ({ x, lengths, y }) => nn.loss.softmaxCrossEntropy(net.call(x, lengths), y).mean()), // prettier-ignore
      batches,
    };
  },
  'cond and a bounded whileLoop': (options) => {
    const batches = batchesOf(() => ({ x: kn.random.normal([rows, 4]) }));
    const w = new nn.Parameter({ shape: [4, 4], init: nn.initializer.xavier });
    w.initialize();
    const optimizer = new optim.SGD(new Map([['w', w]]), { learningRate: 0.1 });
    const loss = ({ x }: Arrays): kn.NDArray => {
      const [rowsOut, [y]] = kn.whileLoop(
        (state: kn.NDArray) => state.square().mean().greater(0.05),
        (state: kn.NDArray) => {
          const next = state.matmul(w.value).tanh();
          return [next.square().mean(), [next]] as const;
        },
        [x],
        { maxIterations: 5, padded: true },
      );
      const total = kn.cond(
        x.sum().greater(0),
        () => y.square().mean(),
        () => y.abs().mean().mul(2),
      );
      return total.add(rowsOut.sum().mul(0.1));
    };
    return { step: stepOf(options, optimizer, loss), batches };
  },
  'transformer with dropout and AdamW': (options) => {
    const time = 8;
    const batches = batchesOf(() => ({ x: labels([rows, time], 12), y: labels([rows, time], 12) }));
    const net = new nn.Sequential(
      new nn.Embedding(12, 16),
      new nn.TransformerEncoderLayer(16, 4, { hidden: 32, dropout: 0.1 }),
      new nn.TransformerEncoderLayer(16, 4, { hidden: 32, dropout: 0.1 }),
      new nn.LayerNorm(),
      new nn.Dense(12, { flatten: false }),
    ).initialize();
    net.call(batches[0].x);
    // The gradient of a key's bias is zero by its formula; without this Adam would make a step of its rounding.
    const optimizer = new optim.AdamW(net.parameters(), {
      learningRate: 0.01,
      weightDecay: 0.01,
      epsilon: 1e-3,
    });
    return { step: stepOf(options, optimizer, ({ x, y }) => nn.loss.softmaxCrossEntropy(net.call(x), y).mean()), batches }; // prettier-ignore
  },
};
