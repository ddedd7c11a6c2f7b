import * as kn from '../../src/index.js';
import { alphabetOf, languages, loadNames, type Name } from '../names/data.js';
import { shuffledNumbers } from '../support/lists.js';
import { train, type Training, type TrainingReport } from '../support/training.js';
import { spellingAxes, spellingBatch, type SpellingBatch } from './data.js';
import { Speller } from './model.js';

export interface DecodingResult extends TrainingReport {
  readonly speller: Speller;
  /** The characters of the alphabet, in the order of their numbers; the first stands for the end. */
  readonly characters: readonly string[];
  /** Mean log probability of a character in names of unseen entities, the end included. */
  readonly logProbability: number;
  /** The same when only the frequencies of characters are known. */
  readonly baseline: number;
}

export interface DecodingOptions {
  readonly epochs?: number;
  readonly batchSize?: number;
  readonly size?: number;
  /** Longer names are left out. */
  readonly longest?: number;
}

/** Mean log probability of the characters of names that a model reads, weighted. */
function meanLogProbability(speller: Speller, batch: SpellingBatch): kn.NDArray {
  const each = kn.gather(speller.call(batch), batch.after.expandDims(-1)).squeeze(-1);
  return each.mul(batch.weights).sum().div(batch.weights.sum());
}

/** A fresh speller with its optimizer, the same each time. */
export function makeSpeller(
  alphabet: number,
  size: number,
  learningRate: kn.optim.LearningRate = 0.01,
): Training<SpellingBatch, Speller> {
  kn.random.seed(6);
  const net = new Speller({ alphabet, languages: languages.length, size }).initialize();
  return {
    net,
    optimizer: new kn.optim.Adam(net.parameters(), { learningRate }),
    loss: (batch) => meanLogProbability(net, batch).neg(),
  };
}

/** Trains the speller on names of ten languages: names of all lengths with one program. */
export function runDecoding(options: DecodingOptions = {}): DecodingResult {
  const { epochs = 10, batchSize = 64, size = 96, longest = 12 } = options;
  const names = loadNames(longest);
  const alphabet = alphabetOf(names.train);
  // Names of about the same length together, so that little is padded.
  const sorted = names.train.toSorted((a, b) => a.text.length - b.text.length);
  const batches = Array.from({ length: Math.floor(sorted.length / batchSize) }, (_, i) =>
    spellingBatch(sorted.slice(i * batchSize, (i + 1) * batchSize), alphabet),
  );
  const schedule = kn.optim.schedule.cosine(0.01, { steps: batches.length * epochs });
  const training = makeSpeller(1 + alphabet.size, size, schedule);
  const report = train({
    ...training,
    label: 'spelling',
    epochs,
    options: { dynamic: [spellingAxes] },
    epoch: () => shuffledNumbers(batches.length).map((i) => batches[i]),
  });
  const speller = training.net;
  return {
    ...report,
    speller,
    characters: ['', ...alphabet.keys()],
    logProbability: Number(meanLogProbability(speller, spellingBatch(names.test, alphabet)).item()),
    baseline: frequencyLogProbability(names, alphabet),
  };
}

/** Mean log probability of a character by how often it occurs in the training names, add-one smoothed. */
function frequencyLogProbability(
  { train: known, test }: { readonly train: readonly Name[]; readonly test: readonly Name[] },
  alphabet: ReadonlyMap<string, number>,
): number {
  const charactersOf = (names: readonly Name[]): number[] => {
    const { after, weights } = spellingBatch(names, alphabet);
    const isReal = weights.dataSync();
    return [...after.dataSync()].map(Number).filter((_, i) => isReal[i] === 1);
  };
  const counts = new Float64Array(1 + alphabet.size).fill(1);
  for (const character of charactersOf(known)) counts[character]++;
  const total = counts.reduce((a, b) => a + b);
  const found = charactersOf(test);
  const sum = found.reduce((logs, character) => logs + Math.log(counts[character] / total), 0);
  return sum / found.length;
}
