import { foreach } from '../../front/control/index.js';
import type { NDArray } from '../../front/ndarray.js';
import { extentsOf } from '../../front/tracedshape.js';
import { extents, sliceAdjoint, updateSlice } from '../../ops/index.js';
import type { Cell } from './cells.js';

export interface RecurrenceOptions {
  /** The states before the first step, each (batch, size). */
  readonly states: readonly NDArray[];
  /** How many examples each step has, the leading ones: (time). All of them when null. */
  readonly counts: NDArray | null;
  /** Whether the last step comes first. Outputs keep their places. */
  readonly isReverse: boolean;
}

export interface Recurrence {
  /** (time, batch, size), zero where an example has no step. */
  readonly outputs: NDArray;
  /** Each example's after its last step. */
  readonly states: readonly NDArray[];
}

/** Runs a cell over a time-major sequence. */
export function runCell(
  cell: Cell,
  x: NDArray,
  { states, counts, isReverse }: RecurrenceOptions,
): Recurrence {
  const { inputs, step } = cell.unroll(x);
  // A loop keeps the dtypes of its states, so they start with those that steps give.
  const begin = states.map((state) => state.astype(inputs.dtype));
  const [outputs, ends] =
    counts === null
      ? foreach(
          (row, before) => {
            const after = step(row, before);
            return [after[0], after];
          },
          inputs,
          begin,
          { reverse: isReverse },
        )
      : foreach(
          ([row, count], before) => leadingStep(step, row, before, count),
          [inputs, counts],
          begin,
          { reverse: isReverse },
        );
  return { outputs, states: ends };
}

/** A step of the leading examples only; the others keep their states and have outputs of zeros. */
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
