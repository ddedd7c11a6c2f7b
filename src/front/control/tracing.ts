import { type Dim, symbolsOf } from '../../base/dim/index.js';
import type { TensorType } from '../../ir/types.js';
import { zeros } from '../arrays/creation.js';
import { mode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { type TracedRegion, traceRegion } from '../graphs/region.js';
import { inIteration } from './checks.js';
import type { IterationStep } from './loop.js';
import type { Nested } from './nesting.js';

/*
 * Control flow in captured code: each function is traced once, and becomes a region of one operator. What
 * the functions read from outside are operands of it, what they write is carried through it.
 */

/** The body of a loop as a region, and the nesting of its outputs. */
export interface TracedBody {
  readonly region: TracedRegion;
  readonly outputs: Nested;
  /** The number of outputs, from the first on, that are joined. */
  readonly joined: number;
}

/** The number of outputs of the iteration that is traced now that are joined. */
let joinedNow = 0;

/** Says that outputs of the iteration that is traced now, so many from the first on, are joined in place of stacked. */
export function joinOutputs(count: number): void {
  joinedNow = count;
}

/** Traces the body of a loop on placeholders for slices and states. */
export function traceBody(
  op: string,
  slices: readonly TensorType[],
  states: readonly NDArray[],
  step: IterationStep,
): TracedBody {
  let outputs: Nested | undefined;
  const types = [...slices, ...states.map(({ type }) => type)];
  const around = joinedNow;
  joinOutputs(0);
  try {
    const region = traceRegion(op, types, (given) =>
      inIteration(op, 0, () => {
        const returned = step(given.slice(0, slices.length), given.slice(slices.length));
        outputs = returned.outputs;
        return [returned.outputs.leaves, returned.states];
      }),
    );
    return { region, outputs: outputs!, joined: joinedNow };
  } finally {
    joinOutputs(around);
  }
}

/**
 * Zeros in the place of values that a path does not have and nobody reads. They have no elements where only the data
 * of another path decides how many.
 */
export function absentValues(types: readonly TensorType[]): readonly NDArray[] {
  return types.map(({ dtype, shape }) =>
    zeros(
      shape.map((dim) => (isKnownSize(dim) ? dim : 0)),
      { dtype },
    ),
  );
}

/** Values of a region, or one in their place: a call without results would not be captured, nor checks in it. */
export function someValues(values: readonly NDArray[]): readonly NDArray[] {
  return values.length > 0 ? values : absentValues([{ dtype: 'bool', shape: [] }]);
}

/** True for a size that the code that is captured now can tell. */
export function isKnownSize(dim: Dim): boolean {
  return [...symbolsOf(dim)].every((name) => mode.capture?.sizes.tells(name) === true);
}

/** Splits a list into parts of given lengths, and the rest. */
export function parted<T>(list: readonly T[], lengths: readonly number[]): (readonly T[])[] {
  let start = 0;
  const parts = lengths.map((length) => list.slice(start, (start += length)));
  return [...parts, list.slice(start)];
}
