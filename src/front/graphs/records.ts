import { valueRule, type ValueRule } from '../../base/attributes/options.js';
import { Tensor } from '../../ir/types.js';

/** Rule for a plain record, not a list, map or array. */
export function recordRule<T>(expected: string): ValueRule<Readonly<Record<string, T>>> {
  return valueRule(
    expected,
    (value): value is Readonly<Record<string, T>> =>
      typeof value === 'object' &&
      value !== null &&
      !(value instanceof Tensor) &&
      !(Symbol.iterator in value),
  );
}
