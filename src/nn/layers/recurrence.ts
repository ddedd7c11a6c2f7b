import { foreach } from '../../front/control/index.js';
import type { NDArray } from '../../front/core/ndarray.js';
import { extentsOf } from '../../front/dispatch/traced-shape.js';
import { extents, sliceAdjoint, updateSlice } from '../../ops/index.js';
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
          ([row, count], before) => leadingStep(step, row, before, count),
          [packing.place(inputs), packing.counts],
          begin,
          order,
        );
  return { outputs, states: ends };
}

/** A step of the leading examples only; the others keep their states and output zeros. */
function leadingStep(
  step: (inputs: NDArray, states: readonly NDArray[]) => NDArray[],
  row: NDArray,
  before: readonly NDArray[],
  count: NDArray,
): [output: NDArray, states: NDArray[]] {
  const [size] = extentsOf(extents<NDArray>(count));
  const leading = [[0, size, 1]] as const;
  const after = step(
    row.slice(...leading),
    before.map((state) => state.slice(...leading)),
  );
  return [
    sliceAdjoint<NDArray>(after[0], extentsOf(before[0]), leading),
    after.map((each, k) => updateSlice(before[k], each, 0, 0)),
  ];
}
