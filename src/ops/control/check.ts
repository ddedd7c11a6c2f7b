import * as attr from '../../base/attributes/attribute.js';
import { isStatic } from '../../base/dim/index.js';
import { CheckError, DTypeError, type KaonError } from '../../base/errors.js';
import type { Tensor } from '../../ir/types.js';
import type { RefusedElement } from '../declare/check.js';
import { type DefaultTensor, operator, type OperatorFunction, tensor } from '../declare/declare.js';
import { all } from '../reduction/logic.js';

const op = 'check';

/** The value that a failed check throws in place of an error, by the class and the message; null for the error. */
export type ThrownValue = (
  name: string,
  message: string,
  error: KaonError,
) => { readonly value: unknown } | null;

let thrownValue: ThrownValue = () => null;

/** Value that a failed check has thrown last. */
let lastThrown: ReturnType<ThrownValue> = null;

/** True for what a failed check has just thrown in place of an error: the value of a user's `throw`. */
export function isThrownByCheck(error: unknown): boolean {
  return lastThrown !== null && Object.is(lastThrown.value, error);
}

/** Installs the values behind checks that stand for `throw` statements. */
export function installThrownValues(find: ThrownValue): void {
  thrownValue = find;
}

/**
 * Refuses a condition of which an element is false, with a message. A call stays in a program although nobody
 * reads its result: true where all elements hold. `thrown` is the class of what the user throws; empty for
 * the error of the check itself.
 */
export const check: OperatorFunction<
  <T extends Tensor = DefaultTensor>(condition: T, message: string, thrown?: string) => T
> = operator({
  name: op,
  family: 'control',
  attributes: { message: attr.string, thrown: attr.string },
  method: false,
  operands: 'keep',
  call: (condition, message, thrown = '') => ({
    inputs: [condition],
    attributes: { message, thrown },
  }),
  infer: ({ inputs: [{ dtype }] }) => {
    if (dtype === 'bool') return [{ dtype, shape: [] }];
    throw new DTypeError('the condition is not bool', {
      op,
      expected: 'bool',
      actual: dtype,
      advice: 'compare it: x.greater(0), x.notEqual(0)',
    });
  },
  check: {
    operand: 0,
    accepts: () => ({ least: 1, most: 1, except: null }),
    refusal: (refused, { message }) => {
      const actual = `${placeOf(refused)} is false`;
      return new CheckError(message, { op, expected: 'a condition that holds', actual });
    },
    isRoot: true,
    problem: ({ message }) => message,
    thrown: ({ thrown, message }, error) =>
      (lastThrown = thrown === '' ? null : thrownValue(thrown, message, error)),
  },
  gradient: 'none',
  lowering: { kind: 'decompose', decompose: ({ inputs: [condition] }) => [all(condition)] },
  samples: [
    { args: [tensor(['n', 2], { dtype: 'bool', low: 1, high: 1 }), 'message'] },
    { args: [tensor([], { dtype: 'bool', low: 1, high: 1 }), 'message'] },
  ],
});

/** Indices of an element, or its number where sizes are not known. */
function placeOf({ at, shape }: RefusedElement): string {
  if (shape.length === 0) return 'the condition';
  if (!shape.every(isStatic)) return `element ${at}`;
  const indices: number[] = [];
  let rest = at;
  for (const extent of shape.toReversed()) {
    indices.unshift(rest % extent);
    rest = Math.floor(rest / extent);
  }
  return `element [${indices.join(', ')}]`;
}
