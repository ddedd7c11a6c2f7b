import { checkOptions, flag, type OptionRules } from '../../base/attributes/options.js';
import { unflattenTree } from '../../base/attributes/tree.js';
import { requireNow } from '../../ir/requirement.js';
import { lengthOf } from '../../ops/control/body.js';
import type { LoopSave } from '../../ops/control/foreach.js';
import { foreach as operator } from '../../ops/control/index.js';
import { mode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { capturedForeach } from './captured-foreach.js';
import { checkedReturn, loopSave, checkFunction, inIteration, userResult } from './checks.js';
import { StackedOutputs, settled } from './eager.js';
import { keeping, type RowLoop, type IterationStep } from './loop.js';
import { namesOf, takeApart } from './nesting.js';
import { iterateRows } from '../arrays/iterate-rows.js';
import { unrun } from './unrun.js';

const op: string = operator.declaration.name;

/** Options of `foreach`. */
export interface ForeachOptions {
  /**
   * Policy for values saved in each iteration for a backward pass: all, only the carried states (the rest is
   * recomputed), or the compiler's choice. Default `auto`.
   */
  readonly save?: LoopSave;
  /** Iterate from the last row to the first; outputs stay in the order of the data. Default false. */
  readonly reverse?: boolean;
}

const rules: OptionRules<ForeachOptions> = { save: loopSave, reverse: flag };

/**
 * Runs `body(slice, states)` for each index along the first axis of the data, and carries the states from one
 * iteration to the next. The body returns `[output, newStates]`; the result is the outputs stacked along a
 * new first axis, and the final states. Data, states and outputs are any nesting of arrays, lists and plain
 * objects, and `[]` stands for none: without states it is a map, without outputs a fold.
 *
 * With no rows, the outputs have none either, and the states are returned unchanged.
 *
 * @throws ShapeError, DTypeError or ArgumentError for data of different lengths, and for states or outputs
 * that change from one iteration to the next in structure, dtype or shape. Errors inside name the iteration.
 */
export function foreach<D extends object | [], S extends object | [], O extends object | []>(
  body: (slice: D, states: S) => readonly [outputs: O, states: NoInfer<S>],
  data: D,
  initStates: S,
  options: ForeachOptions = {},
): [outputs: O, states: S] {
  checkFunction(op, 'the body', body);
  checkOptions(op, options, rules);
  const save = options.save ?? 'auto';
  const rows = takeApart(op, 'data', data);
  const states = takeApart(op, 'state', initStates);
  const types = rows.leaves.map(({ type }) => type);
  lengthOf(op, types, namesOf(rows), requireNow);
  const step: IterationStep = (slices, before) => {
    const slice = unflattenTree(rows.structure, slices) as D;
    const returned = userResult(op, body, slice, unflattenTree(states.structure, before) as S);
    return checkedReturn(op, returned, states, before);
  };
  const loop = {
    data: rows,
    states,
    step,
    save,
    reverse: options.reverse ?? false,
  };
  return (mode.capture === null ? runForeach(loop) : capturedForeach(loop)) as [O, S];
}

function runForeach({ data, states: init, step, save, reverse }: RowLoop): [unknown, unknown] {
  const arrays = data.leaves.map(settled);
  const [length] = arrays[0].shape;
  let states: readonly NDArray[] = init.leaves.map(settled);
  if (length === 0) {
    const none = unrun(op, arrays, states, 0, (...given) =>
      inIteration(op, 0, () => step(...given)),
    );
    return [
      unflattenTree(none.outputs.structure, none.stacked),
      unflattenTree(init.structure, none.states),
    ];
  }
  const iterate = keeping(save, step);
  const rows = arrays.map((array) => iterateRows(array, reverse));
  let outputs: StackedOutputs | undefined;
  for (let i = 0; i < length; i++) {
    const slices = rows.map((each) => each.next().value!);
    inIteration(op, i, () => {
      const returned = iterate(slices, states);
      states = returned.states.map(settled);
      if (outputs === undefined) outputs = new StackedOutputs(op, returned.outputs, reverse);
      else outputs.add(returned.outputs);
    });
  }
  return [outputs!.finish(length, length), unflattenTree(init.structure, states)];
}
