import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';

/**
 * Parses arguments. Failing checks have their own messages; arguments of a wrong form, such as null in the
 * place of options, may throw before any check.
 */
export function readCall<A extends readonly unknown[], C>(
  op: string,
  read: (...args: A) => C,
  args: A,
): C {
  try {
    return read(...args);
  } catch (cause) {
    if (!(cause instanceof TypeError || cause instanceof RangeError)) throw cause;
    throw new ArgumentError('these arguments cannot be read', {
      op,
      expected: 'arguments of the forms that its declaration names',
      actual: args.map(describe).join(', ') || 'no arguments',
      cause,
    });
  }
}
