import type { LoopSave } from '../../ops/control/foreach.js';
import { checkpoint } from '../transforms/checkpoint.js';
import { mode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import type { Returned } from './checks.js';
import type { Nested } from './nesting.js';

/** One iteration: the row's arrays and the states' arrays to what the body makes of them. */
export type Step = (slices: readonly NDArray[], states: readonly NDArray[]) => Returned;

/** A loop over rows, taken apart. */
export interface RowLoop {
  readonly data: Nested;
  readonly states: Nested;
  readonly step: Step;
  readonly save: LoopSave;
  readonly reverse: boolean;
}

/** A loop that a condition ends, taken apart. */
export interface Loop {
  readonly vars: Nested;
  /** The condition of these loop variables, one truth value. */
  readonly holds: (vars: readonly NDArray[]) => NDArray;
  /** The body; there are no slices. */
  readonly step: Step;
  readonly limit: number | null;
  readonly padded: boolean;
  readonly save: LoopSave;
}

/** The iteration with what it computes inside kept for a backward pass, or not. */
export function keeping(save: LoopSave, step: Step): Step {
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
