import * as kn from '../../src/index.js';
import { Progress } from './progress.js';

/** How a classifier is trained: some epochs as written, the rest captured. */
export interface TrainingPlan<B> {
  readonly label: string;
  readonly net: kn.nn.HybridBlock;
  readonly optimizer: kn.optim.Optimizer;
  /** The batches of one epoch, in a fresh order. */
  epoch(index: number): readonly B[];
  /** The mean loss of one batch. */
  loss(batch: B): kn.NDArray;
  readonly eagerEpochs: number;
  readonly hybridEpochs: number;
}

export interface TrainingReport {
  /** Median milliseconds of a training step, run op by op and captured. */
  readonly eagerStep: number;
  readonly hybridStep: number;
  readonly finalLoss: number;
}

/** Trains eagerly for a while, then hybridized, and measures both. */
export function train<B>(plan: TrainingPlan<B>): TrainingReport {
  const phase = (label: string, first: number, count: number): { median: number; loss: number } => {
    const times: number[] = [];
    const progress = new Progress(`${plan.label}, ${label}`, count);
    let last = NaN;
    for (let epoch = 0; epoch < count; epoch++) {
      let total = 0;
      const batches = plan.epoch(first + epoch);
      for (const batch of batches) {
        const start = performance.now();
        const loss = kn.autograd.record(() => plan.loss(batch));
        loss.backward();
        plan.optimizer.step();
        total += Number(loss.item());
        times.push(performance.now() - start);
      }
      last = total / batches.length;
      progress.update(epoch + 1, `loss ${last.toFixed(4)}`);
    }
    times.sort((a, b) => a - b);
    return { median: times[times.length >> 1], loss: last };
  };
  const eager = phase('eager   ', 0, plan.eagerEpochs);
  plan.net.hybridize();
  const hybrid = phase('captured', plan.eagerEpochs, plan.hybridEpochs);
  return { eagerStep: eager.median, hybridStep: hybrid.median, finalLoss: hybrid.loss };
}
