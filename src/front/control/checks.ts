import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError, DTypeError, inContext, KaonError, ShapeError } from '../../base/errors.js';
import { callable, oneOfValues, type ValueRule } from '../../base/attributes/options.js';
import { sameShape } from '../../base/dim/index.js';
import { typeToString } from '../../ir/program.js';
import { requireNow } from '../../ir/requirement.js';
import type { TensorType } from '../../ir/types.js';
import { changedShape, checkPredicate, checkState } from '../../ops/control/body.js';
import type { LoopSave } from '../../ops/control/foreach.js';
import { withSizes } from '../../ops/dynamic/with-sizes.js';
import { mode, refuseAsync, withMode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { isArray } from '../graphs/signature.js';
import { arrangedLike, namesOf, type Nested, takeApart } from './nesting.js';

/** Refuses values that are not functions, and asynchronous functions. */
export function checkFunction(op: string, what: string, value: unknown): void {
  if (callable.accepts(value)) return refuseAsync(value, op);
  throw new ArgumentError(`${what} is not a function`, { op, expected: 'a function', actual: describe(value) }); // prettier-ignore
}

/** Refuses a value that is not an array of one bool. */
export function checkedPredicate(op: string, what: string, value: unknown): NDArray {
  if (!isArray(value)) {
    throw new ArgumentError(`${what} is not an array`, {
      op,
      expected: 'a bool array of one element',
      actual: describe(value),
      advice: 'compare arrays: x.greater(0), x.notEqual(0)',
    });
  }
  checkPredicate(op, what, value.type);
  return value;
}

/** Results of a body: outputs, and the new states in the order of the old ones. */
export interface Returned {
  readonly outputs: Nested;
  readonly states: readonly NDArray[];
}

/** Parses the results of a loop body, and compares the new states with the old ones. */
export function checkedReturn(
  op: string,
  value: unknown,
  states: Nested,
  before: readonly NDArray[],
): Returned {
  if (!Array.isArray(value) || value.length !== 2) {
    throw new ArgumentError('the body does not return a pair', {
      op,
      expected: `[outputs, ${states.what}s], where [] stands for none`,
      actual: describe(value),
    });
  }
  const outputs = takeApart(op, 'output', value[0]);
  const returned = takeApart(op, states.what, value[1]);
  const after = arrangedLike(op, states, returned, 'changes its structure');
  const names = namesOf(states);
  const require = mode.capture?.calls.require ?? requireNow;
  return {
    outputs,
    states: after.map((array, k) => {
      const { type } = before[k];
      checkState(op, names[k], type, array.type, { require, own: new Set() });
      // Sizes that only the data decides are required to be those before.
      return sameShape(type.shape, array.type.shape)
        ? array
        : withSizes(array, type.shape, changedShape(op, names[k], type, array.type));
    }),
  };
}

/** Refuses outputs that differ in type from those of earlier iterations: they are stacked in one array. */
export function checkOutput(op: string, what: string, before: TensorType, after: TensorType): void {
  if (before.dtype !== after.dtype) {
    throw new DTypeError(`${what} changes its dtype`, {
      op,
      expected: `${before.dtype}, as in the iterations before`,
      actual: after.dtype,
      advice: 'cast it to one dtype',
    });
  }
  if (sameShape(before.shape, after.shape)) return;
  throw new ShapeError(`${what} changes its shape`, {
    op,
    expected: `${typeToString(before)}, as in the iterations before`,
    actual: typeToString(after),
    advice: 'reduce it, or write it into an array of fixed size, inside the body',
  });
}

/** Result of a user's function; refuses promises. */
export function userResult<A extends readonly unknown[], R>(
  op: string,
  fn: (...args: A) => R,
  ...args: A
): R {
  return withMode({}, op, () => fn(...args));
}

/** Runs an iteration. Its errors name the iteration; foreign errors stay unchanged. */
export function inIteration<R>(op: string, index: number, run: () => R): R {
  try {
    return run();
  } catch (error) {
    throw error instanceof KaonError ? inContext(error, `iteration ${index}`, { op }) : error;
  }
}

/** Rule for the policy of values saved for the backward pass. */
export const loopSave: ValueRule<LoopSave> = oneOfValues('all', 'none', 'auto');
