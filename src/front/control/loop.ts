import type { LoopSave } from '../../ops/control/foreach.js';
import { checkpoint } from '../transforms/checkpoint.js';
import { mode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import type { Returned } from './checks.js';
import type { Nested } from './nesting.js';

/** One iteration on the arrays of the row and of the states. */
export type IterationStep = (slices: readonly NDArray[], states: readonly NDArray[]) => Returned;

/** A loop over rows, with its nested values flattened. */
export interface RowLoop {
  readonly data: Nested;
  readonly states: Nested;
  readonly step: IterationStep;
  readonly save: LoopSave;
  readonly reverse: boolean;
}

/** A while loop, with its nested values flattened. */
export interface WhileLoop {
  readonly vars: Nested;
  /** The condition on the loop variables, one bool. */
  readonly holds: (vars: readonly NDArray[]) => NDArray;
  /** The body; there are no slices. */
  readonly step: IterationStep;
  readonly limit: number | null;
  readonly padded: boolean;
  readonly save: LoopSave;
}

/** An iteration with the given policy for values saved for a backward pass. */
export function keeping(save: LoopSave, step: IterationStep): IterationStep {
  if (save !== 'none' || mode.session === null) return step;
  return (slices, states) => {
    let made: Returned | undefined;
    const run = checkpoint((...given: NDArray[]) => {
      made = step(given.slice(0, slices.length), given.slice(slices.length));
      return [...made.outputs.leaves, ...made.states];
    });
    const arrays = run(...slices, ...states);
    const { outputs } = made!;
    const count = outputs.leaves.length;
    return { outputs: { ...outputs, leaves: arrays.slice(0, count) }, states: arrays.slice(count) };
  };
}
