import { describe } from '../../base/attributes/attribute.js';
import { checkArgument, textRule } from '../../base/attributes/options.js';
import { ArgumentError } from '../../base/errors.js';
import { check as checkOperator } from '../../ops/control/index.js';
import { array } from '../arrays/creation.js';
import type { NDArray } from '../core/ndarray.js';
import { isArray } from '../graphs/signature.js';

/**
 * Demands a condition: a bool array, of which every element must hold, or a boolean. Eager code throws at once.
 * Captured code throws when its program runs and comes to the check, in a branch only where that is taken; the
 * error names the message, the first element that is false, the iterations of the loops around and the source
 * line. Gradients are as without the check.
 *
 * @throws CheckError where the condition does not hold, DTypeError for an array of another dtype than bool,
 * ArgumentError for other conditions.
 */
export function check(condition: NDArray | boolean, message: string): void {
  const op = checkOperator.declaration.name;
  checkArgument(op, 'message', message, textRule);
  if (isArray(condition)) checkOperator(condition, message);
  else if (condition === false) checkOperator(array(false, { dtype: 'bool' }), message);
  else if (condition !== true) {
    throw new ArgumentError('the condition is neither an array nor a boolean', {
      op,
      expected: 'a bool array, or a boolean',
      actual: describe(condition),
      advice: 'compare arrays: x.greater(0), x.notEqual(0)',
    });
  }
}
