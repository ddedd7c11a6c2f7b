import { foreach } from '../../front/control/index.js';
import type { NDArray } from '../../front/core/ndarray.js';
import type { Cell } from './cells.js';
import type { Packing } from './packing.js';

export interface RecurrenceOptions {
  /** The states before the first step, each (batch, size). */
  readonly states: readonly NDArray[];
  /** Valid steps; null when all are valid. */
  readonly packing: Packing | null;
  /** True to run from the last step to the first. Outputs keep their positions. */
  readonly isReverse: boolean;
}

export interface Recurrence {
  /** (time, batch, size), zero for steps that are padding. */
  readonly outputs: NDArray;
  /** States of each example after its last step. */
  readonly states: readonly NDArray[];
}

/**
 * Runs a cell over a time-major sequence, or over the packed steps of one. The contribution of the inputs is
 * one product over all steps: unpacking its rows costs little in comparison.
 */
export function runCell(
  cell: Cell,
  x: NDArray,
  { states, packing, isReverse }: RecurrenceOptions,
): Recurrence {
  const { inputs, step } = cell.unroll(x);
  // A loop keeps the dtypes of its states, so the initial ones get the dtype that steps return.
  const begin = states.map((state) => state.astype(inputs.dtype));
  const order = { reverse: isReverse };
  const [outputs, ends] =
    packing === null
      ? foreach(
          (row, before) => {
            const after = step(row, before);
            return [after[0], after];
          },
          inputs,
          begin,
          order,
        )
      : foreach(
          ([row, active], before) => packing.advance(step, row, before, active),
          [packing.place(inputs), packing.active],
          begin,
          order,
        );
  return { outputs, states: ends };
}
