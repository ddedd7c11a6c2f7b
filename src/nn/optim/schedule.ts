import { ArgumentError } from '../../base/errors.js';

/** Learning rates over time: functions of the number of steps taken so far. */
export type Schedule = (step: number) => number;

function checkCount(op: string, name: string, value: number): void {
  if (!(Number.isInteger(value) && value > 0)) {
    throw new ArgumentError(`${name} is a number of steps`, {
      op,
      expected: 'an integer above 0',
      actual: String(value),
    });
  }
}

/** Multiplies by `factor` every `every` steps. */
export function stepDecay(
  rate: number,
  options: { readonly every: number; readonly factor: number },
): Schedule {
  checkCount('stepDecay', 'every', options.every);
  return (step) => rate * options.factor ** Math.floor(step / options.every);
}

/** Falls from `rate` to `end` along half a cosine over `steps`. Source: Loshchilov and Hutter, ICLR 2017. */
export function cosine(
  rate: number,
  options: { readonly steps: number; readonly end?: number },
): Schedule {
  checkCount('cosine', 'steps', options.steps);
  const end = options.end ?? 0;
  return (step) => {
    const share = Math.min(1, step / options.steps);
    return end + ((rate - end) * (1 + Math.cos(Math.PI * share))) / 2;
  };
}

/** Rises linearly to where `after` begins, over `steps`. */
export function warmup(steps: number, after: Schedule | number): Schedule {
  checkCount('warmup', 'steps', steps);
  const rest = typeof after === 'number' ? (): number => after : after;
  return (step) => (step < steps ? (rest(0) * (step + 1)) / steps : rest(step - steps));
}
