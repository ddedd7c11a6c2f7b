import * as kn from '../../src/index.js';
import { accuracyOf } from '../support/accuracy.js';
import { wholeStep } from '../support/training.js';
import { type Expression, symbols, symbolsOf } from './data.js';

/** The share of test expressions that stand for the digit that training expressions stand for most often. */
export function majorityAccuracy(
  train: readonly Expression[],
  test: readonly Expression[],
): number {
  const counts = Array.from({ length: 10 }, () => 0);
  for (const { value } of train) counts[value]++;
  const majority = counts.indexOf(Math.max(...counts));
  return test.filter(({ value }) => value === majority).length / test.length;
}

/**
 * What can be told without the structure: a perceptron that sees how often each symbol occurs. Returns
 * its accuracy on the test expressions.
 */
export function bagOfSymbolsAccuracy(
  train: readonly Expression[],
  test: readonly Expression[],
  steps: number = 200,
): number {
  kn.random.seed(4);
  const net = new kn.nn.Sequential(
    new kn.nn.Dense(64, { activation: 'relu' }),
    new kn.nn.Dense(10),
  ).initialize();
  const training = countSymbols(train);
  net.call(training.counts);
  const step = wholeStep({
    net,
    optimizer: new kn.optim.Adam(net.parameters(), { learningRate: 0.01 }),
    loss: ({ counts, values }: BagBatch) =>
      kn.nn.loss.softmaxCrossEntropy(net.call(counts), values),
  });
  for (let i = 0; i < steps; i++) step(training);
  const held = countSymbols(test);
  return accuracyOf(net.call(held.counts), held.values);
}

interface BagBatch {
  readonly counts: kn.NDArray;
  readonly values: kn.NDArray;
}

function countSymbols(expressions: readonly Expression[]): BagBatch {
  const counts = expressions.map(({ tree }) => {
    const row = symbols.map(() => 0);
    for (const symbol of symbolsOf(tree)) row[symbol]++;
    return row;
  });
  const values = expressions.map(({ value }) => value);
  return { counts: kn.array(counts), values: kn.array(values, { dtype: 'int32' }) };
}
