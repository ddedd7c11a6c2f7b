import * as e from './build.js';
import type { Expr, Stmt, Var } from './nodes.js';

/*
 * Sums of floats that carry what their additions round away. Nothing here is a product, so no target
 * contracts it (decision 28), and no law of the loop IR reorders additions of floats.
 */

/** A rounded sum of two floats, and the rounding error. */
export interface RoundedSum {
  readonly sum: Expr;
  /** To be added to the next term: kept separately, it would be rounded as well, and more with each addition. */
  readonly error: Expr;
}

/**
 * `a + b` and its rounding error, from Dekker, "A floating-point technique for extending the available
 * precision", 1971. Exact where `|a| >= |b|`; elsewhere the error is off by one rounding of `b` at most.
 * Beside an infinity or NaN the error is 0. Both operands are used several times, so they should be locals.
 */
export function fastTwoSum(a: Expr, b: Expr): RoundedSum {
  const sum = e.add(a, b);
  return { sum, error: finiteOrZero(e.sub(b, e.sub(sum, a))) };
}

/**
 * `a + b` and its rounding error, whichever is greater, from Knuth, The Art of Computer Programming, volume 2, 4.2.2.
 * Beside an infinity or NaN the error is 0. Both operands are used several times, so they should be locals.
 */
export function twoSum(a: Expr, b: Expr): RoundedSum {
  const sum = e.add(a, b);
  const added = e.sub(sum, a);
  const error = e.add(e.sub(a, e.sub(sum, added)), e.sub(b, added));
  return { sum, error: finiteOrZero(error) };
}

/** An infinity minus itself is NaN, as is anything with a NaN. */
function finiteOrZero(error: Expr): Expr {
  return e.select(e.eq(e.sub(error, error), 0), error, 0);
}

/** Adds a term to a sum in locals, together with what the addition before rounded away, which `error` holds. */
export function addWithError(sum: Var, error: Var, arriving: Expr): Stmt {
  const [term, next] = ['term', 'next'].map((name) =>
    e.variable(name, sum.type.scalar, sum.type.lanes),
  );
  const added = fastTwoSum(sum, term);
  return e.block(
    e.declare(term, e.add(arriving, error)),
    e.declare(next, added.sum),
    e.assign(error, added.error),
    e.assign(sum, next),
  );
}
