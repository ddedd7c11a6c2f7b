import { addDim, type Dim, maxDim, mulDim, subDim } from '../../../base/dim/index.js';
import type { ProgramMemory } from '../../groups/places.js';
import type { MainStep } from './steps.js';

/** Assumed count of an event that only data decides. */
const some = 16;

/**
 * Work of a program that several threads could do at once, in the units of `grainsOf`; an upper bound where
 * the program determines sizes itself.
 */
export function parallelWork(
  steps: readonly MainStep[],
  memory: Pick<ProgramMemory, 'roomFor'>,
): Dim {
  return steps.reduce<Dim>((sum, step) => addDim(sum, gainOfStep(step, memory)), 0);
}

function gainOfStep(step: MainStep, memory: Pick<ProgramMemory, 'roomFor'>): Dim {
  switch (step.kind) {
    case 'kernel': {
      const { grains } = step.kernel;
      return grains === null ? 0 : maxDim(subDim(memory.roomFor(grains) ?? some, 1), 0);
    }
    case 'bind':
      return 0;
    case 'foreach':
      return mulDim(memory.roomFor(step.length) ?? some, parallelWork(step.body, memory));
    case 'while':
      return mulDim(
        some,
        addDim(parallelWork(step.condition, memory), parallelWork(step.body, memory)),
      );
    case 'branch':
      return maxDim(parallelWork(step.consequent, memory), parallelWork(step.alternate, memory));
  }
}
