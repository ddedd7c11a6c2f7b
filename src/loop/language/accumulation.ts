import type { Assign, BinaryExpr, Expr } from './nodes.js';

/** `sum = sum + a * b`. */
export interface Accumulation {
  readonly a: Expr;
  readonly b: Expr;
}

/**
 * The factors of a product of floats that an assignment adds to the variable it assigns, else null. Only this
 * may round once where a target fuses multiplication and addition (decision 28): every printer that does so
 * uses this function, so that all of them agree.
 */
export function accumulationOf({ variable, value }: Assign): Accumulation | null {
  const { scalar } = variable.type;
  if (scalar !== 'f32' && scalar !== 'f64') return null;
  if (value.kind !== 'binary' || value.op !== 'add') return null;
  if (value.a === variable && isProduct(value.b)) return value.b;
  return value.b === variable && isProduct(value.a) ? value.a : null;
}

function isProduct(expr: Expr): expr is BinaryExpr {
  return expr.kind === 'binary' && expr.op === 'mul';
}
