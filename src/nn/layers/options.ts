import { describe } from '../../base/attributes/attribute.js';
import { type DType, isDType, isFloat } from '../../base/dtype.js';
import { ShapeError } from '../../base/errors.js';
import {
  callable,
  checkArgument,
  integerFrom,
  oneOfValues,
  orNull,
  valueRule,
  type ValueRule,
} from '../../base/attributes/options.js';
import { type Activation, activationRule } from './activation.js';
import type { Initializer } from '../initializer.js';

/*
 * Rules of the arguments and options of layers, so that a constructor refuses in its own name what would
 * otherwise surface in an operator, in a parameter, or nowhere.
 */

/** A number of units, channels, heads, layers and the like. */
export const count: ValueRule<number> = integerFrom(1);

/**
 * Refuses a value that is not a size of a parameter.
 *
 * @throws ShapeError for a number that is not a size, ArgumentError for anything else.
 */
export function checkSize(op: string, name: string, value: unknown): void {
  if (typeof value !== 'number') checkArgument(op, name, value, count);
  if (count.accepts(value)) return;
  throw new ShapeError(`${name} is not a size`, {
    op,
    expected: count.expected,
    actual: describe(value),
  });
}

/** The size of an input, which may be empty. */
export const inputSize: ValueRule<number> = integerFrom(0);

/** The dtype of parameters that are trained. */
export const floatDType: ValueRule<DType> = valueRule(
  'one of float32, float64, float16, bfloat16',
  (value): value is DType => isDType(value) && isFloat(value),
);

/** Rule for initializers. */
export const initializer: ValueRule<Initializer> = callable as ValueRule<Initializer>;

/** The order of the axes of sequences. */
export const sequenceLayout: ValueRule<'NTC' | 'TNC'> = oneOfValues('NTC', 'TNC');

/** An activation, or none. */
export const activation: ValueRule<Activation | null> = orNull(activationRule);

/** One integer for all spatial axes, or one for each. */
export function extentsRule(axes: number, least: number): ValueRule<number | readonly number[]> {
  const isExtent = integerFrom(least).accepts;
  return valueRule(
    `${integerFrom(least).expected}, or ${axes} of them, one a spatial axis`,
    (value): value is number | readonly number[] =>
      Array.isArray(value) ? value.length === axes && value.every(isExtent) : isExtent(value),
  );
}
