import * as kn from '../../src/index.js';
import { accuracyOf } from '../support/accuracy.js';
import { compareForms, type Form } from '../support/forms.js';
import { train, type Training, type TrainingReport } from '../support/training.js';
import { type Digits, loadDigits } from './data.js';
import { DigitNet } from './model.js';

export interface DigitsResult extends TrainingReport {
  /** The share of the 360 held-out images that were told right. */
  readonly accuracy: number;
  /** The trained network for the held-out images, without its source. */
  readonly graph: kn.StaticGraph;
}

export interface DigitsOptions {
  readonly epochs?: number;
  readonly batchSize?: number;
}

/** A fresh network with its optimizer, the same each time. */
export function makeDigits(
  learningRate: kn.optim.LearningRate = 0.005,
): Training<Digits, DigitNet> {
  kn.random.seed(1);
  const net = new DigitNet().initialize();
  net.call(kn.zeros([1, 1, 8, 8])); // sizes become known
  return {
    net,
    optimizer: new kn.optim.Adam(net.parameters(), { learningRate }),
    loss: ({ images, labels }) => kn.nn.loss.softmaxCrossEntropy(net.call(images), labels),
  };
}

/** The first images. */
export function firstDigits(count: number): Digits {
  const { images, labels } = loadDigits().train;
  return { images: images.slice([0, count]), labels: labels.slice([0, count]) };
}

/** Milliseconds of a step on 64 images, by form. */
export function compareDigits(): Readonly<Record<Form, number>> {
  return compareForms(makeDigits, firstDigits(64));
}

/** Trains the digit network and tests it on held-out images. */
export function runDigits(options: DigitsOptions = {}): DigitsResult {
  const { epochs = 22, batchSize = 64 } = options;
  const data = loadDigits();
  const rows = data.train.images.shape[0];
  const steps = Math.floor(rows / batchSize) * epochs;
  const training = makeDigits(kn.optim.schedule.cosine(0.005, { steps }));
  const report = train({
    ...training,
    label: 'digits',
    epochs,
    epoch: () => {
      const order = kn.random.permutation(rows);
      return Array.from({ length: Math.floor(rows / batchSize) }, (_, i) => {
        const picked = order.slice([i * batchSize, (i + 1) * batchSize]);
        const { images, labels } = data.train;
        return {
          images: images.take(picked, { axis: 0 }),
          labels: labels.take(picked, { axis: 0 }),
        };
      });
    },
  });
  const net = training.net.hybridize();
  return {
    ...report,
    accuracy: accuracyOf(net.call(data.test.images), data.test.labels),
    graph: net.graphFor(data.test.images),
  };
}
