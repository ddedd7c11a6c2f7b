import { describe } from '../../base/attributes/attribute.js';
import { FormatError } from '../../base/errors.js';
import { NDArray } from '../../front/core/ndarray.js';

/** State of an optimizer in a checkpoint. */
export interface OptimizerState {
  readonly arrays: ReadonlyMap<string, NDArray>;
  readonly steps: number;
}

/** Refuses a value that does not have the form of a state. */
export function readState(op: string, state: unknown): OptimizerState {
  const refuse = (actual: string): FormatError =>
    new FormatError('this is not a state of an optimizer', {
      op,
      expected: 'the result of state(): { arrays, steps }, a map of arrays by name and a number',
      actual,
    });
  if (typeof state !== 'object' || state === null) throw refuse(describe(state));
  const { arrays } = state as OptimizerState;
  if (!(arrays instanceof Map)) throw refuse(`arrays: ${describe(arrays)}`);
  for (const [name, slot] of arrays as ReadonlyMap<unknown, unknown>) {
    if (!(slot instanceof NDArray)) throw refuse(`${describe(name)}: ${describe(slot)}`);
  }
  return state as OptimizerState;
}
