import * as kn from '../../src/index.js';
import { Progress } from './progress.js';

/** All that a training step consists of; a batch is a record of arrays. */
export interface Training<B, N extends kn.nn.HybridBlock = kn.nn.HybridBlock> {
  readonly net: N;
  readonly optimizer: kn.optim.Optimizer;
  /** The mean loss of one batch. */
  loss(batch: B): kn.NDArray;
}

/** A training step as it is written: forward, backward, update. Returns the loss before it. */
export function stepAsWritten<B>(training: Training<B>, batch: B): kn.NDArray {
  const loss = kn.autograd.record(() => training.loss(batch));
  loss.backward();
  training.optimizer.step();
  return loss;
}

/** The same step as one compiled program. */
export function wholeStep<B>(
  training: Training<B>,
  options: kn.HybridizeOptions = {},
): kn.Hybridized<(batch: B) => kn.NDArray> {
  return kn.hybridize((batch: B) => stepAsWritten(training, batch), { name: 'step', ...options });
}

export interface TrainingPlan<B> extends Training<B> {
  readonly label: string;
  readonly epochs: number;
  /** The batches of one epoch, in a fresh order. */
  epoch(index: number): readonly B[];
  readonly options?: kn.HybridizeOptions;
}

export interface TrainingReport {
  /** The mean loss of the last epoch. */
  readonly finalLoss: number;
  /** What was captured of the training step, and why. */
  readonly explanation: kn.Explanation;
}

/** Trains in whole compiled steps. */
export function train<B>(plan: TrainingPlan<B>): TrainingReport {
  const step = wholeStep(plan, plan.options);
  const progress = new Progress(plan.label, plan.epochs);
  let finalLoss = NaN;
  for (let epoch = 0; epoch < plan.epochs; epoch++) {
    const batches = plan.epoch(epoch);
    const total = batches.reduce((sum, batch) => sum + Number(step(batch).item()), 0);
    finalLoss = total / batches.length;
    progress.update(epoch + 1, `loss ${finalLoss.toFixed(4)}`);
  }
  return { finalLoss, explanation: step.explain() };
}
