import * as kn from '../../src/index.js';
import { countRight } from '../support/accuracy.js';
import { compareForms, type Form } from '../support/forms.js';
import { train, type Training, type TrainingReport } from '../support/training.js';
import {
  alphabetOf,
  arraysOf,
  batchByLength,
  letterFrequencyAccuracy,
  loadNames,
  type NameArrays,
} from './data.js';
import { NameReader } from './model.js';

export interface NamesResult extends TrainingReport {
  readonly accuracy: number;
  /** What naive Bayes on single letters reaches on the same names. */
  readonly baseline: number;
  readonly names: number;
  /** How many different lengths the training names have, and the greatest that was allowed. */
  readonly lengths: number;
  readonly longest: number;
  /** The trained network, one graph for each length of the test names. */
  readonly graphs: ReadonlyMap<number, kn.StaticGraph>;
  /** The characters the network knows, in the order of their numbers. */
  readonly alphabet: readonly string[];
}

export interface NamesOptions {
  readonly epochs?: number;
  readonly batchSize?: number;
  /** Leave out longer names: each length is another program to compile. Default 24. */
  readonly longest?: number;
}

/** A fresh network with its optimizer, the same each time. */
export function makeNames(
  alphabet: ReadonlyMap<string, number>,
  learningRate: kn.optim.LearningRate = 0.006,
): Training<NameArrays> {
  kn.random.seed(2);
  const net = new NameReader(alphabet.size + 1, 96).initialize();
  net.call(kn.zeros([1, 1], { dtype: 'int32' })); // sizes become known
  return {
    net,
    optimizer: new kn.optim.Adam(net.parameters(), { learningRate }),
    loss: ({ characters, languages }) =>
      kn.nn.loss.softmaxCrossEntropy(net.call(characters), languages),
  };
}

/** Training names of `length` characters, `count` at most, and the characters in all training names. */
export function firstNames(
  length: number,
  count: number,
): { readonly alphabet: ReadonlyMap<string, number>; readonly batch: NameArrays } {
  const names = loadNames().train;
  const alphabet = alphabetOf(names);
  const batches = batchByLength(names, alphabet, count);
  return { alphabet, batch: arraysOf(batches.find(({ characters: [name] }) => name.length === length)!) }; // prettier-ignore
}

/** Milliseconds of a step on 64 names of 12 characters, by form. */
export function compareNames(): Readonly<Record<Form, number>> {
  const { alphabet, batch } = firstNames(12, 64);
  return compareForms(() => makeNames(alphabet), batch);
}

/**
 * Trains the reader of names and tests it on names of entities it has never seen. Each length is a
 * program of its own, since the network unrolls over the characters; the number of names is a symbol,
 * so that full batches and the last ones share it.
 */
export function runNames(options: NamesOptions = {}): NamesResult {
  const { epochs = 15, batchSize = 64, longest = 24 } = options;
  const { train: trainNames, test } = loadNames(longest);
  const alphabet = alphabetOf(trainNames);
  const batches = batchByLength(trainNames, alphabet, batchSize).map(arraysOf);
  const steps = batches.length * epochs;
  const training = makeNames(alphabet, kn.optim.schedule.cosine(0.006, { steps }));
  const report = train({
    ...training,
    label: 'names ',
    epochs,
    options: { dynamic: [{ characters: ['batch'], languages: ['batch'] }] },
    epoch: () =>
      (kn.random.permutation(batches.length).tolist() as (number | bigint)[]).map(
        (i) => batches[Number(i)],
      ),
  });
  const net = (training.net as NameReader).hybridize({ dynamic: [['batch']] });
  const graphs = new Map<number, kn.StaticGraph>();
  let right = 0;
  for (const batch of batchByLength(test, alphabet, Infinity)) {
    const { characters, languages } = arraysOf(batch);
    right += countRight(net.call(characters), languages);
    graphs.set(characters.shape[1], net.graphFor(characters));
  }
  return {
    ...report,
    accuracy: right / test.length,
    baseline: letterFrequencyAccuracy(trainNames, test),
    names: trainNames.length + test.length,
    lengths: new Set(batches.map(({ characters }) => characters.shape[1])).size,
    longest,
    graphs,
    alphabet: [...alphabet.keys()],
  };
}
