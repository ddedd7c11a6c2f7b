import { type DType, isFloat } from '../../base/dtype.js';
import { integerRange } from '../../base/numbers.js';
import * as e from '../../loop/language/build.js';
import type { Const, Expr } from '../../loop/language/nodes.js';
import { computeScalar } from '../declare/lowering.js';

/** The neutral element: it loses against, or ties with, every other. */
export function worst(side: 'max' | 'min', dtype: DType): Const {
  const scalar = computeScalar(dtype);
  const [low, high] = integerRange(dtype) ?? (isFloat(dtype) ? [-Infinity, Infinity] : [0, 1]);
  return e.constant(scalar, side === 'max' ? low : high);
}

/** The greater of a number and an element of floats, of which NaN is not greater. */
export const greaterNumber = (number: Expr, element: Expr): Expr =>
  e.select(e.lt(number, element), element, number);

/** The better of two elements; NaN wins. */
export function better(side: 'max' | 'min', a: Expr, b: Expr): Expr {
  if (a.type.scalar === 'bool') return side === 'max' ? e.or(a, b) : e.and(a, b);
  return side === 'max' ? e.max(a, b) : e.min(a, b);
}
