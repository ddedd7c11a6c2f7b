import * as attr from '../../base/attribute.js';
import { DTypeError, ShapeError } from '../../base/errors.js';
import type { AttributesOf } from '../../base/schema.js';
import { type InferContext, type Program, typeToString } from '../../ir/program.js';
import type { Tensor, TensorType } from '../../ir/types.js';
import { type DefaultTensor, operator, type OperatorFunction } from '../declare.js';
import { checkCount, checkState, instanceOf, lengthOf, refuseOwnSizes, regionAt } from './body.js';

const op = 'foreach';

const attributes = {
  /** How many operands are iterated over: they come first. */
  data: attr.int,
  /** How many operands follow that are carried from one iteration to the next. */
  states: attr.int,
  /** Iterates from the last row to the first; stacked results stay in the order of the data. */
  reverse: attr.bool,
  /** Whether the last operand says how many leading rows are iterated over. */
  counted: attr.bool,
  /** What is kept of each iteration for a backward pass. */
  save: attr.oneOf('all', 'none', 'auto'),
} as const;

/** What a loop keeps of each iteration for its backward pass; `none`: the carried states only. */
export type LoopSave = 'all' | 'none' | 'auto';

/** The operands of a loop over rows. */
export interface ForeachOperands<T extends Tensor> {
  /** Iterated over along their first axes, which have one size. At least one. */
  readonly data: readonly T[];
  readonly states: readonly T[];
  /** What every iteration reads. */
  readonly captures: readonly T[];
  /** How many leading rows are iterated over, an int32 array of one element; all when absent. */
  readonly count?: T | undefined;
  /** From the last row to the first. Default false. */
  readonly reverse?: boolean;
  /** Default `auto`. */
  readonly save?: LoopSave;
}

/**
 * Runs `body` for each row of the data. Its inputs are the slices, then the states, then the captures;
 * its outputs are the rows of the stacked results, then the new states. Gives the stacked results, then
 * the final states. Rows of results that are not iterated over are zero.
 */
export const foreach: OperatorFunction<
  <T extends Tensor = DefaultTensor>(body: Program, operands: ForeachOperands<T>) => readonly T[],
  false
> = operator({
  name: op,
  family: 'control',
  attributes,
  results: 'list',
  method: false,
  operands: 'keep',
  call: (body, { data, states, captures, count, reverse = false, save = 'auto' }) => ({
    inputs: [...data, ...states, ...captures, ...(count === undefined ? [] : [count])],
    attributes: {
      data: data.length,
      states: states.length,
      reverse,
      counted: count !== undefined,
      save,
    },
    regions: [body],
  }),
  infer: (context) => inferForeach(context),
  gradient: 'none',
  lowering: {
    kind: 'foreach',
    loop: ({ data, states, reverse, counted }) => ({ data, states, reverse, counted }),
  },
  samples: [],
});

function inferForeach({
  inputs,
  attributes: { data, states, counted },
  regions,
  require,
}: InferContext & {
  readonly attributes: AttributesOf<typeof attributes>;
}): readonly TensorType[] {
  const body = regionAt(op, regions, 0);
  checkCount(op, 'operands', body.inputs.length + Number(counted), inputs.length);
  const rows = inputs.slice(0, data);
  const names = rows.map((_, k) => `data ${k}`);
  const length = lengthOf(op, rows, names, require);
  if (counted) checkRowCount(inputs[inputs.length - 1]);
  const operands = inputs
    .slice(0, body.inputs.length)
    .map((type, k) => (k < data ? { dtype: type.dtype, shape: type.shape.slice(1) } : type));
  const instance = instanceOf(op, body, operands, require);
  const outputs = body.outputs.length - states;
  return instance.types.map((type, k) => {
    if (k < outputs) {
      refuseOwnSizes(op, `output ${k}`, body, k, instance);
      return { dtype: type.dtype, shape: [length, ...type.shape] };
    }
    const state = k - outputs;
    refuseOwnSizes(op, `state ${state}`, body, k, instance);
    checkState(op, `state ${state}`, operands[data + state], type, require);
    return operands[data + state];
  });
}

function checkRowCount({ dtype, shape }: TensorType): void {
  if (dtype !== 'int32')
    throw new DTypeError('the number of rows is no int32', {
      op,
      expected: 'int32',
      actual: dtype,
    });
  if (shape.length > 0) {
    throw new ShapeError('the number of rows is not one number', {
      op,
      expected: 'rank 0',
      actual: typeToString({ dtype, shape }),
    });
  }
}
