import {
  callable,
  checkArgument,
  checkOptions,
  eitherRule,
  integerFrom,
  nonNegative,
} from '../../base/attributes/options.js';

/** Learning rates over time: functions of the number of steps taken so far. */
export type Schedule = (step: number) => number;

const count = integerFrom(1);

interface StepDecayOptions {
  /** The number of steps between two multiplications. */
  readonly every: number;
  readonly factor: number;
}

interface CosineOptions {
  /** The number of steps until the end. */
  readonly steps: number;
  /** The last rate. Default 0. */
  readonly end?: number;
}

/** Multiplies by `factor` every `every` steps. */
export function stepDecay(rate: number, options: StepDecayOptions): Schedule {
  const op = 'stepDecay';
  checkArgument(op, 'rate', rate, nonNegative);
  checkOptions<StepDecayOptions>(op, options, { every: count, factor: nonNegative });
  checkArgument(op, 'every', options.every, count);
  checkArgument(op, 'factor', options.factor, nonNegative);
  return (step) => rate * options.factor ** Math.floor(step / options.every);
}

/** Falls from `rate` to `end` along half a cosine over `steps`. Source: Loshchilov and Hutter, ICLR 2017. */
export function cosine(rate: number, options: CosineOptions): Schedule {
  const op = 'cosine';
  checkArgument(op, 'rate', rate, nonNegative);
  checkOptions<CosineOptions>(op, options, { steps: count, end: nonNegative });
  checkArgument(op, 'steps', options.steps, count);
  const end = options.end ?? 0;
  return (step) => {
    const share = Math.min(1, step / options.steps);
    return end + ((rate - end) * (1 + Math.cos(Math.PI * share))) / 2;
  };
}

/** Rises linearly, over `steps`, to the initial rate of `after`. */
export function warmup(steps: number, after: Schedule | number): Schedule {
  checkArgument('warmup', 'steps', steps, count);
  checkArgument('warmup', 'after', after, eitherRule(nonNegative, callable));
  const rest = typeof after === 'number' ? (): number => after : after;
  return (step) => (step < steps ? (rest(0) * (step + 1)) / steps : rest(step - steps));
}
