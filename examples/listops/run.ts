import * as kn from '../../src/index.js';
import { accuracyOf } from '../support/accuracy.js';
import { seeded } from '../support/random.js';
import { train, type Training, type TrainingReport } from '../support/training.js';
import { bagOfSymbolsAccuracy, majorityAccuracy } from './baseline.js';
import { batchTrees, treeAxes, type TreeBatch } from './batch.js';
import { drawExpression, type Expression, type ListopsRules } from './data.js';
import { TreeReader } from './model.js';

export interface ListopsResult extends TrainingReport {
  /** The share of held-out expressions that were told right. */
  readonly accuracy: number;
  /** What the most frequent digit alone reaches, and what a perceptron on counts of symbols does. */
  readonly majority: number;
  readonly bagOfSymbols: number;
}

export interface ListopsOptions extends Partial<ListopsRules> {
  readonly expressions?: number;
  readonly epochs?: number;
  readonly batchSize?: number;
  readonly size?: number;
}

/** Expressions of which no two have the same text, the same for each call. */
export function drawExpressions(count: number, rules: ListopsRules): Expression[] {
  const draw = seeded(3);
  const found = new Map<string, Expression>();
  while (found.size < count) {
    const expression = drawExpression(draw, rules);
    found.set(JSON.stringify(expression.tree), expression);
  }
  return [...found.values()];
}

/** A fresh reader with its optimizer, the same each time. */
export function makeListops(
  size: number,
  sample: TreeBatch,
  learningRate: kn.optim.LearningRate = 0.02,
): Training<TreeBatch, TreeReader> {
  kn.random.seed(5);
  const net = new TreeReader(size).initialize();
  net.call(sample); // sizes become known
  return {
    net,
    optimizer: new kn.optim.Adam(net.parameters(), { learningRate }),
    loss: (batch) => kn.nn.loss.softmaxCrossEntropy(net.call(batch), batch.values),
  };
}

/** Trains the reader of expressions, all batches with one program, and tests it on expressions it has not seen. */
export function runListops(options: ListopsOptions = {}): ListopsResult {
  const { expressions = 12000, depth = 3, longest = 3 } = options;
  const { epochs = 4, batchSize = 32, size = 48 } = options;
  const drawn = drawExpressions(expressions, { depth, longest });
  const heldOut = drawn.splice(0, Math.ceil(expressions / 5));
  const batches = Array.from({ length: Math.floor(drawn.length / batchSize) }, (_, i) =>
    batchTrees(drawn.slice(i * batchSize, (i + 1) * batchSize)),
  );
  const schedule = kn.optim.schedule.cosine(0.02, { steps: batches.length * epochs });
  const training = makeListops(size, batches[0], schedule);
  const report = train({
    ...training,
    label: 'listops',
    epochs,
    options: { dynamic: [treeAxes] },
    epoch: () => batches,
  });
  const test = batchTrees(heldOut);
  return {
    ...report,
    accuracy: accuracyOf(training.net.call(test), test.values),
    majority: majorityAccuracy(drawn, heldOut),
    bagOfSymbols: bagOfSymbolsAccuracy(drawn, heldOut),
  };
}
