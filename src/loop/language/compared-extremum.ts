import type { Expr, Select } from './nodes.js';

/**
 * `max`: `a < b ? b : a`; `min`: `b < a ? b : a`. Of a pair without an order, and of equal operands, it is `a`: an
 * instruction of processors that do not propagate NaN.
 */
export interface ComparedExtremum {
  readonly op: 'min' | 'max';
  readonly a: Expr;
  readonly b: Expr;
}

/** The extremum of floats that a selection of one of two compared operands is, else null. */
export function comparedExtremumOf({ condition, a, b, type }: Select): ComparedExtremum | null {
  if (condition.kind !== 'binary' || (type.scalar !== 'f32' && type.scalar !== 'f64')) return null;
  if (condition.op !== 'lt' && condition.op !== 'gt') return null;
  const [less, more] =
    condition.op === 'lt' ? [condition.a, condition.b] : [condition.b, condition.a];
  if (a === more && b === less) return { op: 'max', a: less, b: more };
  if (a === less && b === more) return { op: 'min', a: more, b: less };
  return null;
}
