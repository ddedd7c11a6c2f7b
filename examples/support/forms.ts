import type * as kn from '../../src/index.js';
import { stepAsWritten, type Training, wholeStep } from './training.js';

/** The forms that one training step can be run in. */
export const forms = ['eager', 'captured network', 'whole step'] as const;
export type Form = (typeof forms)[number];

/** A training step on a batch; gives the loss. */
export type RunStep<B> = (batch: B) => number;

/** A training that has just been made, with its step in one of the forms. */
export function stepIn<B>(
  form: Form,
  training: Training<B>,
  options: kn.HybridizeOptions = {},
): RunStep<B> {
  if (form === 'whole step') {
    const step = wholeStep(training, options);
    return (batch) => Number(step(batch).item());
  }
  if (form === 'captured network') training.net.hybridize();
  return (batch) => Number(stepAsWritten(training, batch).item());
}

/** Steps before a comparison: with them everything is traced, checked and compiled. */
const warmup = 3;
/** What the losses of those steps may differ by, since the forms add up in different orders. */
const tolerance = 1e-3;

/**
 * Median milliseconds of a training step, by form. `make` must make the same training each time, random
 * state included: the first steps of all forms have to give the same losses.
 */
export function compareForms<B>(
  make: () => Training<B>,
  batch: B,
  rounds = 15,
): Readonly<Record<Form, number>> {
  const steps = forms.map((form) => {
    const run = stepIn(form, make());
    return { form, run, losses: Array.from({ length: warmup }, () => run(batch)) };
  });
  for (const { form, losses } of steps) {
    losses.forEach((loss, i) => {
      const expected = steps[0].losses[i];
      if (Math.abs(loss - expected) <= tolerance * Math.abs(expected)) return;
      throw new Error(`${form}: the loss of step ${i} is ${loss}, and ${expected} in eager code`);
    });
  }
  const times = steps.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    // In turns, so that a noisy moment hits all of them alike.
    steps.forEach(({ run }, k) => {
      const start = performance.now();
      run(batch);
      times[k].push(performance.now() - start);
    });
  }
  const medians = times.map((list) => list.sort((a, b) => a - b)[list.length >> 1]);
  const medianOf = (form: Form): number => medians[forms.indexOf(form)];
  return {
    eager: medianOf('eager'),
    'captured network': medianOf('captured network'),
    'whole step': medianOf('whole step'),
  };
}
