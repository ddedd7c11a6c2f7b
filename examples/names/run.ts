import * as kn from '../../src/index.js';
import { countRight } from '../support/accuracy.js';
import { train, type TrainingReport } from '../support/training.js';
import { alphabetOf, arraysOf, batchByLength, letterFrequencyAccuracy, loadNames } from './data.js';
import { NameReader } from './model.js';

export interface NamesResult extends TrainingReport {
  readonly accuracy: number;
  /** What naive Bayes on single letters reaches on the same names. */
  readonly baseline: number;
  readonly names: number;
  /** The trained network, one graph for each length of the test names. */
  readonly graphs: ReadonlyMap<number, kn.StaticGraph>;
  /** The characters the network knows, in the order of their numbers. */
  readonly alphabet: readonly string[];
}

export interface NamesOptions {
  readonly eagerEpochs?: number;
  readonly hybridEpochs?: number;
  readonly batchSize?: number;
  /** Leave out longer names, for a quick run. Default Infinity. */
  readonly longest?: number;
}

/** Trains the reader of names and tests it on names of entities it has never seen. */
export async function runNames(options: NamesOptions = {}): Promise<NamesResult> {
  const { eagerEpochs = 1, hybridEpochs = 14, batchSize = 64, longest = Infinity } = options;
  kn.random.seed(2);
  const { train: trainNames, test } = loadNames(longest);
  const alphabet = alphabetOf(trainNames);
  const net = new NameReader(alphabet.size + 1, 96).initialize();
  const batches = batchByLength(trainNames, alphabet, batchSize).map(arraysOf);
  net.call(batches[0].characters); // sizes become known
  const optimizer = new kn.optim.Adam(net.parameters(), {
    learningRate: kn.optim.schedule.cosine(0.006, {
      steps: batches.length * (eagerEpochs + hybridEpochs),
    }),
  });
  const report = train({
    label: 'names ',
    net,
    optimizer,
    eagerEpochs,
    hybridEpochs,
    epoch: () =>
      (kn.random.permutation(batches.length).tolist() as (number | bigint)[]).map(
        (i) => batches[Number(i)],
      ),
    loss: ({ characters, languages }) =>
      kn.nn.loss.softmaxCrossEntropy(net.call(characters), languages),
  });
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
    graphs,
    alphabet: [...alphabet.keys()],
  };
}
