import * as e from './build.js';
import type { Expr } from './nodes.js';

/*
 * Sums of floats that carry what their additions round away. Nothing here is a product, so no target
 * contracts it (decision 28), and no law of the loop IR reorders additions of floats.
 */

/** A sum of two floats as it rounds, and what was rounded away. */
export interface RoundedSum {
  readonly sum: Expr;
  readonly error: Expr;
}

/**
 * `a + b` and its rounding error: three operations, from Dekker, "A floating-point technique for extending
 * the available precision", 1971. Exact where `|a| >= |b|`; elsewhere the error is off by one rounding of `b`
 * at most. Both operands are used several times, so they should be locals. Where the sum is not finite, the
 * error is not either: see `finiteOrZero`.
 */
export function fastTwoSum(a: Expr, b: Expr): RoundedSum {
  const sum = e.add(a, b);
  return { sum, error: e.sub(b, e.sub(sum, a)) };
}

/** A rounding error, or 0 beside an infinity or NaN, which has none. */
export function finiteOrZero(error: Expr): Expr {
  return e.select(e.lt(e.abs(error), Infinity), error, 0);
}
