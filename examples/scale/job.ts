import * as kn from '../../src/index.js';
import { writeJob } from '../../src/scale.js';
import { capacityFor, drawDigits, taskBatch, type TaskBatch } from '../attention/data.js';
import { makeTransformer } from '../attention/run.js';
import type { Transformer } from '../attention/model.js';
import { seeded } from '../support/random.js';
import { stepAsWritten, type Training } from '../support/training.js';

/** Sizes of the job. */
export interface DigitsJobOptions {
  readonly steps?: number;
  readonly batch?: number;
  readonly size?: number;
  /** Digits of a number at most. */
  readonly longest?: number;
  /** Examples to draw. */
  readonly examples?: number;
}

/** A transformer that writes digits in reverse order, and its training as a job. */
export interface DigitsJob {
  readonly training: Training<TaskBatch, Transformer>;
  readonly step: kn.Hybridized<(batch: TaskBatch) => { readonly loss: kn.NDArray }>;
  readonly data: TaskBatch;
}

/** Tasks with their answers. */
export function drawTasks(count: number, longest: number, seed: number): TaskBatch {
  const draw = seeded(seed);
  const tasks = Array.from({ length: count }, () => drawDigits(draw, longest));
  return taskBatch(tasks, capacityFor(longest));
}

/**
 * Writes the training of the transformer as a job for eight devices, four along the data and two along the model:
 * projections are divided as Megatron divides them (Shoeybi et al., 2019), all else is whole on each device.
 */
export async function writeDigitsJob(
  folder: string,
  options: DigitsJobOptions = {},
): Promise<DigitsJob> {
  const { steps = 300, batch = 64, size = 32, longest = 5, examples = 2048 } = options;
  const schedule = kn.optim.schedule.cosine(0.005, { steps });
  const training = makeTransformer(size, longest, schedule);
  const step = kn.hybridize((given: TaskBatch) => ({ loss: stepAsWritten(training, given) }));
  const evaluate = kn.hybridize((given: TaskBatch) => ({ loss: training.loss(given) }));
  const data = drawTasks(examples, longest, 8);
  const held = drawTasks(batch, longest, 9);
  await writeJob(folder, {
    step: step.graphFor(held),
    evaluate: evaluate.graphFor(held),
    data: { ...data },
    evaluateData: { ...held },
    evaluateEvery: Math.max(1, Math.floor(steps / 5)),
    batch,
    steps,
    mesh: { data: 4, model: 2 },
    rules: [
      ['perceptron\\.layers\\.0\\.weight', ['model', null]],
      ['perceptron\\.layers\\.1\\.weight', [null, 'model']],
    ],
    schedule: { learning_rate: schedule },
    checkpoint: { every: 100 },
  });
  return { training, step, data };
}
