import * as attr from '../../base/attributes/attribute.js';
import { addDim, type Dim } from '../../base/dim/index.js';
import type { AttributesOf } from '../../base/attributes/schema.js';
import { bindProgram } from '../../ir/bind.js';
import type { Program } from '../../ir/program.js';
import type { Tensor } from '../../ir/types.js';
import type { LoopBackward, LoopSave } from '../declare/backward.js';
import {
  type DefaultTensor,
  type GradientContext,
  operator,
  type OperatorFunction,
} from '../declare/declare.js';
import { sub } from '../elementwise/arithmetic.js';
import { cast } from '../elementwise/conversion.js';
import { concat } from '../movement/concat.js';
import { zerosLike } from '../movement/fill.js';
import { expandDims } from '../movement/reshape.js';
import { slice } from '../movement/slice.js';
import { cumsum } from '../reduction/cumulative.js';
import { lengthMeeting } from './body.js';
import { bodyOperands, dataNames, inferForeach } from './foreach-types.js';

export type { LoopSave } from '../declare/backward.js';

const attributes = {
  /** Number of operands to iterate over, which come first. */
  data: attr.int,
  /** Number of loop-carried operands, which follow. */
  states: attr.int,
  /** Iterates from the last row to the first; stacked results stay in the order of the data. */
  reverse: attr.bool,
  /** True when the last operand is the number of leading rows to iterate over. */
  counted: attr.bool,
  joined: attr.joinedRows,
  /** Policy for values saved for a backward pass. */
  save: attr.oneOf('all', 'none', 'auto'),
  sizes: attr.passedSizes,
} as const;

/** The operands of a loop over rows. */
export interface ForeachOperands<T extends Tensor> {
  /** Iterated over along their first axes, which have one size. At least one. */
  readonly data: readonly T[];
  readonly states: readonly T[];
  /** Values that every iteration reads. */
  readonly captures: readonly T[];
  /** Number of leading rows to iterate over, an int32 array of one element; all when absent. */
  readonly count?: T | undefined;
  /** Iterate from the last row to the first. Default false. */
  readonly reverse?: boolean;
  /**
   * Number of results, from the first on, that are joined: an iteration gives any number of rows for them, along a first
   * axis, and they follow one another. Default 0.
   */
  readonly joined?: number;
  /** Default `auto`. */
  readonly save?: LoopSave;
  /** Sizes that the body is passed. Default none. */
  readonly sizes?: readonly Dim[];
}

/**
 * Runs `body` for each row of the data. Its inputs are the slices, then the states, then the captures; its
 * outputs are the rows of the results, joined ones first, then the new states. Returns the results with the rows, then
 * the final states. Stacked rows beyond `count` are zero.
 */
export const foreach: OperatorFunction<
  <T extends Tensor = DefaultTensor>(body: Program, operands: ForeachOperands<T>) => readonly T[]
> = operator({
  name: 'foreach',
  family: 'control',
  attributes,
  results: 'list',
  method: false,
  operands: 'keep',
  call: (
    body,
    { data, states, captures, count, reverse = false, joined = 0, save = 'auto', sizes = [] },
  ) => ({
    inputs: [...data, ...states, ...captures, ...(count === undefined ? [] : [count])],
    attributes: {
      data: data.length,
      states: states.length,
      reverse,
      counted: count !== undefined,
      joined,
      save,
      sizes,
    },
    regions: [body],
  }),
  infer: (context) => inferForeach('foreach', context),
  meetings: (shapes, { data }) => lengthMeeting('foreach', shapes, dataNames(data)),
  gradient: <T extends Tensor>(
    context: GradientContext<T, AttributesOf<typeof attributes>>,
  ): readonly (T | null)[] => foreachGradient(context),
  lowering: {
    kind: 'foreach',
    loop: ({ data, states, reverse, counted, joined, save }) => ({
      data,
      states,
      reverse,
      counted,
      joined,
      preferRecompute: save === 'none',
    }),
  },
  samples: [],
});

function foreachGradient<T extends Tensor>({
  inputs,
  outputs,
  grads,
  attributes: { data, states, counted, reverse, joined, save, sizes },
  needs,
  regions: [body],
  backwardOfLoop,
}: GradientContext<T, AttributesOf<typeof attributes>>): readonly (T | null)[] {
  const flows = grads.map((grad) => grad !== null);
  const canShift = !counted || !reverse;
  const back = backwardOfLoop({ body, slices: data, states, joined, needs, flows, save, canShift });
  if (back === null) return inputs.map(() => null);
  const end = inputs.length - Number(counted);
  const types = bodyOperands(inputs.slice(0, end).map(({ type }) => type), data); // prettier-ignore
  const loop = {
    data: inputs.slice(0, data),
    first: inputs.slice(data, data + states),
    captures: inputs.slice(data + states, end),
    count: counted ? inputs[end] : undefined,
    reverse,
    joined,
    save,
  };
  const rows = outputs.length - states;
  const again =
    back.saved === 0 ? [] : foreach<T>(back.augmented, { ...loop, states: loop.first, sizes });
  const found = runBackward(back, {
    ...loop,
    sizes: sizesOfBackward(back, bindProgram<Dim>(body, types, sizes)),
    rows: outputs.slice(0, rows),
    saved: again.slice(rows, rows + back.saved),
    rowGrads: grads.slice(0, rows),
    stateGrads: grads.slice(rows),
  });
  return [...found.data, ...found.states, ...found.captures, ...(counted ? [null] : [])];
}

/** Inputs and results of a loop, as values of the gradient's program. */
export interface FinishedLoop<T extends Tensor> {
  readonly data: readonly T[];
  /** The initial states. */
  readonly first: readonly T[];
  readonly captures: readonly T[];
  /**
   * The results with rows: the loop's own. Those of a rerun are equal, but have fresh sizes where iterations decide them.
   */
  readonly rows: readonly T[];
  /** The rows that a rerun has saved. */
  readonly saved: readonly T[];
  readonly rowGrads: readonly (T | null)[];
  readonly stateGrads: readonly (T | null)[];
  /** Number of valid rows; all when absent. */
  readonly count?: T | undefined;
  readonly reverse: boolean;
  readonly save: LoopSave;
  /** The sizes that the body of the backward loop is passed. */
  readonly sizes: readonly Dim[];
}

export interface LoopGradients<T extends Tensor> {
  readonly data: readonly (T | null)[];
  /** Gradients of the initial states. */
  readonly states: readonly (T | null)[];
  readonly captures: readonly (T | null)[];
}

/** The sizes that the body of a backward loop is passed, where those of the loop's body are `dims`. */
export function sizesOfBackward(
  { sizes }: LoopBackward,
  dims: ReadonlyMap<string, Dim>,
): readonly Dim[] {
  return sizes.map((name) => dims.get(name)!);
}

/** Runs the backward loop. */
export function runBackward<T extends Tensor>(
  { backward, reads, flows, gives }: LoopBackward,
  loop: FinishedLoop<T>,
): LoopGradients<T> {
  const { data, first, captures, rows, saved, rowGrads, stateGrads, count, reverse, save, sizes } =
    loop;
  // Joined rows of an iteration begin behind those of the iterations before.
  const counted = saved.length - flows.joined.length;
  const starts = saved
    .slice(counted)
    .map((own) => sub<T>(cast<T>(cumsum<T>(own, 0), 'int32'), own));
  const made = foreach<T>(backward, {
    data: [
      ...reads.slices.map((k) => data[k]),
      ...reads.rows.map((k) => rows[k]),
      ...reads.before.map(({ state, row }) => statesBefore(first[state], rows[row], reverse)),
      ...saved.slice(0, counted),
      ...flows.rows.map((k) => rowGrads[k]!),
      ...starts,
    ],
    states: [
      ...flows.states.map((k) => stateGrads[k] ?? zerosLike<T>(first[k])),
      ...gives.captures.map((k) => zerosLike<T>(captures[k])),
    ],
    captures: [...reads.captures.map((k) => captures[k]), ...flows.joined.map((k) => rowGrads[k]!)],
    count,
    reverse: !reverse,
    save,
    sizes,
  });
  const among = (numbers: readonly number[], offset: number, k: number): T | null =>
    numbers.includes(k) ? made[offset + numbers.indexOf(k)] : null;
  const [carried, sums] = [gives.slices.length, gives.slices.length + flows.states.length];
  return {
    data: data.map((_, k) => among(gives.slices, 0, k)),
    states: first.map((_, k) => among(flows.states, carried, k)),
    captures: captures.map((_, k) => among(gives.captures, sums, k)),
  };
}

/** The states at the start of each iteration, from the rows of those at its end. */
function statesBefore<T extends Tensor>(first: T, rows: T, reverse: boolean): T {
  const length = rows.type.shape[0];
  const start = expandDims<T>(first, 0);
  return reverse
    ? slice<T>(concat<T>([rows, start]), [1, addDim(length, 1)])
    : slice<T>(concat<T>([start, rows]), [0, length]);
}
