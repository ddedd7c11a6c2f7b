import * as kn from '../../src/index.js';
import { shuffledNumbers } from '../support/lists.js';
import type { Training } from '../support/training.js';
import type { Name, NameBatch } from './data.js';
import { NameReader } from './model.js';

/** Options of a training step that is captured once for any number of names of any lengths. */
export const anySizes: kn.HybridizeOptions = {
  dynamic: [{ characters: ['batch', 'time'], lengths: ['batch'], languages: ['batch'] }],
};

/** A fresh network with its optimizer, the same each time. */
export function makeNames(
  alphabet: ReadonlyMap<string, number>,
  learningRate: kn.optim.LearningRate = 0.006,
): Training<NameBatch, NameReader> {
  kn.random.seed(2);
  const net = new NameReader(alphabet.size + 1, 96).initialize();
  const integers = { dtype: 'int32' } as const;
  net.call(kn.zeros([1, 1], integers), kn.ones([1], integers)); // sizes become known
  return {
    net,
    optimizer: new kn.optim.Adam(net.parameters(), { learningRate }),
    loss: ({ characters, lengths, languages }) =>
      kn.nn.loss.softmaxCrossEntropy(net.call(characters, lengths), languages),
  };
}

/** The names in a fresh order. */
export function shuffledNames(names: readonly Name[]): Name[] {
  return shuffledNumbers(names.length).map((i) => names[i]);
}
