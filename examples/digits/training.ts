import * as kn from '../../src/index.js';
import type { Training } from '../support/training.js';
import type { Digits } from './data.js';
import { DigitNet } from './model.js';

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
