import * as kn from '../../src/index.js';
import { accuracyOf } from '../support/accuracy.js';
import { compareForms, type Form } from '../support/forms.js';
import { train, type TrainingReport } from '../support/training.js';
import { type Digits, shuffledBatches } from './data.js';
import { loadDigits } from './load.js';
import { makeDigits } from './training.js';

export { makeDigits } from './training.js';

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
  const steps = Math.floor(data.train.images.shape[0] / batchSize) * epochs;
  const training = makeDigits(kn.optim.schedule.cosine(0.005, { steps }));
  const report = train({
    ...training,
    label: 'digits',
    epochs,
    epoch: () => shuffledBatches(data.train, batchSize),
  });
  const net = training.net.hybridize();
  return {
    ...report,
    accuracy: accuracyOf(net.call(data.test.images), data.test.labels),
    graph: net.graphFor(data.test.images),
  };
}
