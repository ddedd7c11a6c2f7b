import { ArgumentError } from '../../base/errors.js';
import {
  checkOptions,
  flag,
  integerFrom,
  type OptionRules,
  orNull,
} from '../../base/attributes/options.js';
import { unflattenTree } from '../../base/attributes/tree.js';
import type { LoopSave } from '../../ops/control/foreach.js';
import { arrayType } from '../core/array-type.js';
import { whileLoop as operator } from '../../ops/control/index.js';
import { mode } from '../core/mode.js';
import { arrayOf, type NDArray } from '../core/ndarray.js';
import { capturedWhile } from './captured-while.js';
import {
  checkedPredicate,
  checkedReturn,
  loopSave,
  checkFunction,
  inIteration,
  userResult,
} from './checks.js';
import { StackedOutputs, settled } from './eager.js';
import { keeping, type WhileLoop } from './loop.js';
import { takeApart } from './nesting.js';
import { unrun } from './unrun.js';

const op: string = operator.declaration.name;

/** Options of `whileLoop`. */
export interface WhileOptions {
  /** Iteration limit. Default: none. */
  readonly maxIterations?: number | null;
  /** Pad outputs with zeros to `maxIterations` rows. Default false. */
  readonly padded?: boolean;
  /** See `ForeachOptions`. Default `auto`. */
  readonly save?: LoopSave;
}

/** Loop variables that are not a list, and so are passed as one argument. */
export type LoopVariables = NDArray | (object & { readonly [Symbol.iterator]?: never });

const rules: OptionRules<WhileOptions> = {
  maxIterations: orNull(integerFrom(0)),
  padded: flag,
  save: loopSave,
};

/**
 * Runs `body` as long as `condition` holds for the loop variables. The body returns `[output,
 * newLoopVariables]`; the result is the outputs stacked along a new first axis, one row for each iteration,
 * the final loop variables, and the number of iterations, a rank-0 int32 array. A list of loop variables is
 * spread over the arguments of both functions, anything else is passed as one. Loop variables and outputs are
 * any nesting of arrays, lists and plain objects; `[]` stands for none.
 *
 * @throws ArgumentError, ShapeError or DTypeError for a condition that is not one bool, and for loop
 * variables or outputs that change from one iteration to the next in structure, dtype or shape. Errors inside
 * name the iteration.
 */
export function whileLoop<V extends readonly unknown[] | [], O extends object | []>(
  // Spread, since the compiler would otherwise infer the whole list for functions of fewer parameters.
  condition: (...loopVars: [...V]) => NDArray,
  body: (...loopVars: [...V]) => readonly [outputs: O, loopVars: NoInfer<V>],
  loopVars: V,
  options?: WhileOptions,
): [outputs: O, loopVars: V, iterations: NDArray<'int32'>];
export function whileLoop<V extends LoopVariables, O extends object | []>(
  condition: (loopVars: V) => NDArray,
  body: (loopVars: V) => readonly [outputs: O, loopVars: NoInfer<V>],
  loopVars: V,
  options?: WhileOptions,
): [outputs: O, loopVars: V, iterations: NDArray<'int32'>];
export function whileLoop(
  condition: (...loopVars: never[]) => unknown,
  body: (...loopVars: never[]) => unknown,
  loopVars: unknown,
  options: WhileOptions = {},
): [unknown, unknown, NDArray] {
  checkFunction(op, 'the condition', condition);
  checkFunction(op, 'the body', body);
  checkOptions(op, options, rules);
  const { padded = false, save = 'auto' } = options;
  const limit = checkedLimit(options.maxIterations, padded);
  const vars = takeApart(op, 'loop variable', loopVars);
  const spread = (arrays: readonly NDArray[]): never[] => {
    const nested = unflattenTree(vars.structure, arrays);
    return (Array.isArray(nested) ? nested : [nested]) as never[];
  };
  const run = mode.capture === null ? runWhile : capturedWhile;
  return run({
    vars,
    holds: (arrays) =>
      checkedPredicate(op, 'the condition', userResult(op, condition, ...spread(arrays))),
    step: (_, before) => checkedReturn(op, userResult(op, body, ...spread(before)), vars, before),
    limit,
    padded,
    save,
  });
}

function runWhile(loop: WhileLoop): [unknown, unknown, NDArray] {
  const { vars, holds, limit, padded } = loop;
  const step = keeping(loop.save, loop.step);
  let states: readonly NDArray[] = vars.leaves.map(settled);
  let outputs: StackedOutputs | undefined;
  let count = 0;
  const end = limit ?? Infinity;
  for (; count < end; count++) {
    const goesOn = inIteration(op, count, () => {
      if (holds(states).storage.host[0] === 0) return false;
      const returned = step([], states);
      states = returned.states.map(settled);
      if (outputs === undefined) outputs = new StackedOutputs(op, returned.outputs);
      else outputs.add(returned.outputs);
      return true;
    });
    if (!goesOn) break;
  }
  const iterations = arrayOf(arrayType('int32', []), Int32Array.of(count));
  if (outputs !== undefined) {
    const stacked = outputs.finish(count, padded ? limit! : count);
    return [stacked, unflattenTree(vars.structure, states), iterations];
  }
  const none = unrun(op, [], states, padded ? limit! : 0, (...given) =>
    inIteration(op, 0, () => loop.step(...given)),
  );
  return [
    unflattenTree(none.outputs.structure, none.stacked),
    unflattenTree(vars.structure, none.states),
    iterations,
  ];
}

function checkedLimit(limit: number | null | undefined, padded: boolean): number | null {
  if (limit === undefined || limit === null) {
    if (!padded) return null;
    throw new ArgumentError('a padded loop has no limit', {
      op,
      expected: 'maxIterations with padded',
      actual: 'none',
    });
  }
  return limit;
}
