import * as kn from '../../src/index.js';
import { accuracyOf } from '../support/accuracy.js';
import { train, type TrainingReport } from '../support/training.js';
import { type Digits, loadDigits } from './data.js';
import { DigitNet } from './model.js';

export interface DigitsResult extends TrainingReport {
  /** The share of the 360 held-out images that were told right. */
  readonly accuracy: number;
  /** The trained network for the held-out images, without its source. */
  readonly graph: kn.StaticGraph;
}

export interface DigitsOptions {
  readonly eagerEpochs?: number;
  readonly hybridEpochs?: number;
  readonly batchSize?: number;
}

/** Trains the digit network and tests it on held-out images. */
export async function runDigits(options: DigitsOptions = {}): Promise<DigitsResult> {
  const { eagerEpochs = 2, hybridEpochs = 20, batchSize = 64 } = options;
  kn.random.seed(1);
  const data = loadDigits();
  const net = new DigitNet().initialize();
  const batch = (images: kn.NDArray, labels: kn.NDArray): Digits => ({ images, labels });
  const rows = data.train.images.shape[0];
  net.call(data.train.images.slice([0, 1])); // sizes become known
  const steps = Math.ceil(rows / batchSize) * (eagerEpochs + hybridEpochs);
  const optimizer = new kn.optim.Adam(net.parameters(), {
    learningRate: kn.optim.schedule.cosine(0.005, { steps }),
  });
  const report = train({
    label: 'digits',
    net,
    optimizer,
    eagerEpochs,
    hybridEpochs,
    epoch: () => {
      const order = kn.random.permutation(rows);
      return Array.from({ length: Math.floor(rows / batchSize) }, (_, i) => {
        const picked = order.slice([i * batchSize, (i + 1) * batchSize]);
        return batch(
          data.train.images.take(picked, { axis: 0 }),
          data.train.labels.take(picked, { axis: 0 }),
        );
      });
    },
    loss: ({ images, labels }) => kn.nn.loss.softmaxCrossEntropy(net.call(images), labels),
  });
  return {
    ...report,
    accuracy: accuracyOf(net.call(data.test.images), data.test.labels),
    graph: net.graphFor(data.test.images),
  };
}
