import * as kn from '../../src/index.js';
import { seeded } from '../support/random.js';
import { rowsOf } from '../support/lists.js';
import { train, type Training, type TrainingReport } from '../support/training.js';
import {
  capacityFor,
  type Digits,
  drawDigits,
  equals,
  solved,
  type TaskBatch,
  taskBatch,
  tokens,
} from './data.js';
import { generate } from './generate.js';
import { Transformer } from './model.js';

export interface AttentionResult extends TrainingReport {
  readonly model: Transformer;
  /** The share of answers to unseen tasks that were right from the first token to the last. */
  readonly accuracy: number;
}

export interface AttentionOptions {
  readonly steps?: number;
  readonly batchSize?: number;
  readonly size?: number;
  /** How many digits there are at most. */
  readonly longest?: number;
}

/** A fresh transformer with its optimizer, the same each time. */
export function makeTransformer(
  size: number,
  longest: number,
  learningRate: kn.optim.LearningRate = 0.003,
): Training<TaskBatch, Transformer> {
  kn.random.seed(7);
  const capacity = capacityFor(longest);
  const net = new Transformer({ size, heads: 4, layers: 2, capacity }).initialize();
  net.call(kn.zeros([1, 1], { dtype: 'int32' })); // sizes become known
  return {
    net,
    optimizer: new kn.optim.Adam(net.parameters(), { learningRate }),
    loss: ({ tokens: given, weights }) => {
      const logits = net.call(given.slice(':', [0, -1]));
      const losses = kn.nn.loss.softmaxCrossEntropy(logits, given.slice(':', [1]), {
        reduction: 'none',
      });
      return losses.mul(weights).sum().div(weights.sum());
    },
  };
}

/** Trains a transformer to write digits in reverse order, and lets it answer tasks it has not seen. */
export function runAttention(options: AttentionOptions = {}): AttentionResult {
  const { steps = 600, batchSize = 64, size = 32, longest = 5 } = options;
  const capacity = capacityFor(longest);
  const draw = seeded(8);
  const schedule = kn.optim.schedule.cosine(0.005, { steps });
  const training = makeTransformer(size, longest, schedule);
  const epochs = 10;
  const report = train({
    ...training,
    label: 'attention',
    epochs,
    epoch: () =>
      Array.from({ length: Math.ceil(steps / epochs) }, () =>
        taskBatch(
          Array.from({ length: batchSize }, () => drawDigits(draw, longest)),
          capacity,
        ),
      ),
  });
  const model = training.net;
  const tasks = Array.from({ length: 100 }, () => drawDigits(draw, longest));
  const answers = answersOf(model, tasks);
  const right = tasks.filter((task, i) => String(solved(task)) === String(answers[i]));
  return { ...report, model, accuracy: right.length / tasks.length };
}

/** What a model makes of tasks: the sequences up to their ends. */
export function answersOf(model: Transformer, tasks: readonly Digits[]): number[][] {
  const prompts = tokens(tasks.map((task) => [...task, equals]), model.capacity); // prettier-ignore
  const lengths = kn.array(tasks.map(({ length }) => length + 1), { dtype: 'int32' }); // prettier-ignore
  const written = rowsOf(generate(model, prompts, lengths));
  return written.map((row, i) => [tasks[i][0], ...row].slice(0, 2 * tasks[i].length + 2));
}
