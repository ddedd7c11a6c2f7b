import { addDim, type Dim, maxDim, mulDim, subDim } from '../../../base/dim/index.js';
import type { Memory } from '../../groups/places.js';
import type { Step } from './steps.js';

/** How often something is taken to happen that only data decides. */
const some = 16;

/**
 * How much of a program's work several threads could do at once, in the stretches of `grainsOf`; an
 * upper bound where the program finds sizes itself.
 */
export function gainOf(steps: readonly Step[], memory: Pick<Memory, 'roomFor'>): Dim {
  return steps.reduce<Dim>((sum, step) => addDim(sum, gainOfStep(step, memory)), 0);
}

function gainOfStep(step: Step, memory: Pick<Memory, 'roomFor'>): Dim {
  switch (step.kind) {
    case 'kernel': {
      const { grains } = step.kernel;
      return grains === null ? 0 : maxDim(subDim(memory.roomFor(grains) ?? some, 1), 0);
    }
    case 'bind':
      return 0;
    case 'foreach':
      return mulDim(memory.roomFor(step.length) ?? some, gainOf(step.body, memory));
    case 'while':
      return mulDim(some, addDim(gainOf(step.condition, memory), gainOf(step.body, memory)));
    case 'branch':
      return maxDim(gainOf(step.consequent, memory), gainOf(step.alternate, memory));
  }
}
