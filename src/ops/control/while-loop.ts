import * as attr from '../../base/attributes/attribute.js';
import type { Dim } from '../../base/dim/index.js';
import { ArgumentError } from '../../base/errors.js';
import type { AttributesOf } from '../../base/attributes/schema.js';
import type { InferContext } from '../../ir/operator.js';
import { bindProgram } from '../../ir/bind.js';
import type { Program } from '../../ir/program.js';
import type { Tensor, TensorType } from '../../ir/types.js';
import type { LoopBackward } from '../declare/backward.js';
import {
  type DefaultTensor,
  type GradientContext,
  operator,
  type OperatorFunction,
} from '../declare/declare.js';
import { reshaped } from '../movement/reshape.js';
import {
  checkCount,
  checkPredicate,
  checkState,
  bindRegion,
  firstIteration,
  paddingBytes,
  regionAt,
  rowResults,
} from './body.js';
import { type LoopSave, runBackward, sizesOfBackward } from './foreach.js';

const op = 'whileLoop';

const attributes = {
  /** Number of loop-carried operands, which come first. */
  states: attr.int,
  /** Iteration limit; null for none. */
  limit: attr.optional(attr.dim),
  /**
   * True when stacked results have `limit` rows, zero beyond the iterations, instead of one for each
   * iteration.
   */
  padded: attr.bool,
  joined: attr.joinedRows,
  /** Policy for values saved for a backward pass. */
  save: attr.oneOf('all', 'none', 'auto'),
  sizes: attr.passedSizes,
} as const;

/** The operands of a while loop. */
export interface WhileOperands<T extends Tensor> {
  readonly states: readonly T[];
  /** Values that every iteration reads. */
  readonly captures: readonly T[];
  /** Default null: none. */
  readonly limit?: Dim | null;
  /** Default false. */
  readonly padded?: boolean;
  /** As for `foreach`. Default 0. */
  readonly joined?: number;
  /** Default `auto`. */
  readonly save?: LoopSave;
  /** Sizes that condition and body are passed. Default none. */
  readonly sizes?: readonly Dim[];
}

/**
 * Runs `body` as long as `condition` holds. Both take the states, then the captures; the condition returns
 * one bool, the body the rows of the results, joined ones first, then the new states. Returns the results with the rows, the
 * final states, and the number of iterations.
 */
export const whileLoop: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    condition: Program,
    body: Program,
    operands: WhileOperands<T>,
  ) => readonly T[]
> = operator({
  name: op,
  family: 'control',
  attributes,
  results: 'list',
  method: false,
  operands: 'keep',
  call: (
    condition,
    body,
    { states, captures, limit = null, padded = false, joined = 0, save = 'auto', sizes = [] },
  ) => ({
    inputs: [...states, ...captures],
    attributes: { states: states.length, limit, padded, joined, save, sizes },
    regions: [condition, body],
  }),
  infer: (context) => inferWhile(context),
  gradient: <T extends Tensor>(
    context: GradientContext<T, AttributesOf<typeof attributes>>,
  ): readonly (T | null)[] => whileGradient(context),
  lowering: {
    kind: 'while',
    loop: ({ states, limit, padded, joined }) => ({ states, limit, padded, joined }),
  },
  samples: [],
});

function whileGradient<T extends Tensor>({
  inputs,
  outputs,
  grads,
  attributes: { states, limit, padded, joined, save, sizes },
  needs,
  regions: [condition, body],
  backwardOfLoop,
}: GradientContext<T, AttributesOf<typeof attributes>>): readonly (T | null)[] {
  const rows = body.outputs.length - states;
  const flows = body.outputs.map((_, k) => grads[k] !== null);
  const back = backwardOfLoop({
    body,
    slices: 0,
    states,
    joined,
    needs,
    flows,
    save,
    canShift: true,
  });
  if (back === null) return inputs.map(() => null);
  const types = inputs.map(({ type }) => type);
  const first = inputs.slice(0, states);
  const captures = inputs.slice(states);
  const hasStacked = rows > joined;
  const isPadded = hasStacked ? padded : isWorthPadding(back, limit);
  const again =
    back.saved === 0
      ? []
      : whileLoop<T>(condition, back.augmented, {
          states: first,
          captures,
          limit,
          padded: isPadded,
          joined,
          save,
          sizes,
        });
  const found = runBackward(back, {
    data: [],
    first,
    captures,
    rows: outputs.slice(0, rows),
    saved: again
      .slice(rows, rows + back.saved)
      .map((row) => (hasStacked ? asMany(row, outputs[joined]) : row)),
    rowGrads: grads.slice(0, rows),
    stateGrads: grads.slice(rows, rows + states),
    count: isPadded ? outputs[rows + states] : undefined,
    reverse: false,
    save,
    sizes: sizesOfBackward(back, bindProgram<Dim>(body, types, sizes)),
  });
  return [...found.states, ...found.captures];
}

/** Rows of a rerun of the same loop: their number equals that of the original, which their types do not show. */
function asMany<T extends Tensor>(rows: T, as: T): T {
  return reshaped(rows, [as.type.shape[0], ...rows.type.shape.slice(1)]);
}

/** True when saved rows are padded to the iteration limit instead of having the number of iterations. */
function isWorthPadding({ rowBytes }: LoopBackward, limit: Dim | null): boolean {
  return typeof limit === 'number' && rowBytes * limit <= paddingBytes;
}

function inferWhile({
  inputs,
  attributes: { states, limit, padded, joined, sizes },
  regions,
  fresh,
  require,
}: InferContext & {
  readonly attributes: AttributesOf<typeof attributes>;
}): readonly TensorType[] {
  const [condition, body] = [regionAt(op, regions, 0), regionAt(op, regions, 1)];
  checkCount(op, 'operands', body.inputs.length, inputs.length);
  checkCount(op, 'results of the condition', 1, condition.outputs.length);
  if (padded && limit === null) {
    throw new ArgumentError('a padded loop has no limit', {
      op,
      expected: 'maxIterations with padded',
      actual: 'none',
    });
  }
  const given = { types: inputs, sizes };
  const [predicate] = bindRegion(op, condition, given, require, firstIteration).types;
  checkPredicate(op, 'the condition', predicate);
  const instance = bindRegion(op, body, given, require, firstIteration);
  const outputs = body.outputs.length - states;
  const length = outputs <= joined ? 0 : padded ? limit! : fresh('rows', boundsOf(limit));
  const { own } = instance;
  const rowTypes = rowResults(op, instance, { count: outputs, joined, length }, fresh);
  const types = instance.types.map((type, k) => {
    if (k < outputs) return rowTypes[k];
    const state = k - outputs;
    checkState(op, `state ${state}`, inputs[state], type, { require, own });
    return inputs[state];
  });
  return [...types, { dtype: 'int32', shape: [] }];
}

function boundsOf(limit: Dim | null): { readonly max: number } | undefined {
  return typeof limit === 'number' ? { max: limit } : undefined;
}
