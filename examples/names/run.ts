import * as kn from '../../src/index.js';
import { countRight } from '../support/accuracy.js';
import { compareForms, type Form } from '../support/forms.js';
import { train, type TrainingReport } from '../support/training.js';
import {
  alphabetOf,
  batchesOf,
  letterFrequencyAccuracy,
  loadNames,
  type NameBatch,
} from './data.js';
import type { Shipped } from '../shipping/shipped.js';
import type { NameReader } from './model.js';
import { anySizes, makeNames, shuffledNames } from './training.js';

export { makeNames } from './training.js';

export interface NamesResult extends TrainingReport {
  readonly accuracy: number;
  /** What naive Bayes on single letters reaches on the same names. */
  readonly baseline: number;
  readonly names: number;
  /** The length of the longest name that was allowed. */
  readonly longest: number;
  /** The trained network as it was written. */
  readonly net: NameReader;
  /** The same network as one graph for any number of names of any lengths. */
  readonly graph: kn.StaticGraph;
  /** The characters the network knows, in the order of their numbers. */
  readonly alphabet: readonly string[];
}

export interface NamesOptions {
  readonly epochs?: number;
  readonly batchSize?: number;
  /** Leave out longer names. Default 24. */
  readonly longest?: number;
}

/** The first `count` training names, and the characters in all training names. */
export function firstNames(count: number): {
  readonly alphabet: ReadonlyMap<string, number>;
  readonly batch: NameBatch;
} {
  const names = loadNames().train;
  const alphabet = alphabetOf(names);
  return { alphabet, batch: batchesOf(names.slice(0, count), alphabet, count)[0] };
}

/** Milliseconds of a step on 64 names, by form. */
export function compareNames(): Readonly<Record<Form, number>> {
  const { alphabet, batch } = firstNames(64);
  return compareForms(() => makeNames(alphabet), batch);
}

/**
 * Trains the reader of names and tests it on names of entities it has never seen. Every batch has names of
 * all lengths. One program runs them all, since the numbers of names and of characters are symbols in it.
 */
export function runNames(options: NamesOptions = {}): NamesResult {
  const { epochs = 15, batchSize = 64, longest = 24 } = options;
  const { train: trainNames, test } = loadNames(longest);
  const alphabet = alphabetOf(trainNames);
  const steps = Math.ceil(trainNames.length / batchSize) * epochs;
  const training = makeNames(alphabet, kn.optim.schedule.cosine(0.006, { steps }));
  const report = train({
    ...training,
    label: 'names ',
    epochs,
    options: anySizes,
    epoch: () => batchesOf(shuffledNames(trainNames), alphabet, batchSize),
  });
  const net = training.net.hybridize({ dynamic: [['batch', 'time'], ['batch']] });
  const batches = batchesOf(test, alphabet, batchSize);
  const right = batches.map(({ characters, lengths, languages }) =>
    countRight(net.call(characters, lengths), languages),
  );
  return {
    ...report,
    accuracy: right.reduce((a, b) => a + b) / test.length,
    baseline: letterFrequencyAccuracy(trainNames, test),
    names: trainNames.length + test.length,
    longest,
    net,
    graph: net.graphFor(batches[0].characters, batches[0].lengths),
    alphabet: [...alphabet.keys()],
  };
}

/** The trained network with batches of names that it has not seen, and what it makes of them uncaptured. */
export function shippedNames({ net, graph, alphabet, longest }: NamesResult): Shipped {
  const numbers = new Map(alphabet.map((character, i) => [character, i + 1]));
  const { test } = loadNames(longest);
  const batches = [1, 7, 64].map((count, i) => batchesOf(test.slice(i), numbers, count)[0]);
  net.hybridize({ active: false });
  const runs = batches.map(({ characters, lengths }) => {
    const [batch, time] = characters.shape;
    const [first, second] = graph.inputNames;
    const [output] = graph.outputNames;
    return {
      sizes: { batch, time },
      feeds: { [first]: characters, [second]: lengths },
      expected: { [output]: net.call(characters, lengths) },
    };
  });
  return { graph, runs, train: false, seed: 0 };
}
