import type { Expr, Kernel, Stmt, Var } from '../../loop/language/nodes.js';
import { binaryLane, castLane, type Lane, unaryLane, UndefinedDivision } from '../../loop/language/scalar.js'; // prettier-ignore
import { visitStmts } from '../../loop/language/visit.js';

/** Steps of a range about which nothing is known before data is read. */
const unknownSteps = 2 ** 14;

/**
 * The most steps that a range of a kernel has, for these numbers. Variables of loops around ranges are taken at their
 * beginning: this decides how many invocations there are, and any number of them does all steps.
 */
export function mostSteps(
  { params, body }: Pick<Kernel, 'params' | 'body'>,
  ranges: readonly Expr[],
  numbers: readonly (number | undefined)[],
): number {
  const values = new Map<Var, Lane>();
  params.forEach((param, k) => {
    const given = numbers[k];
    if (param.kind !== 'var' || given === undefined) return;
    values.set(param, param.type.scalar === 'i64' ? BigInt(given) : given);
  });
  visitStmts(body, (stmt: Stmt) => {
    if (stmt.kind !== 'for' && stmt.kind !== 'declare') return;
    const value = valueOf(stmt.kind === 'for' ? stmt.begin : stmt.value, values);
    if (value !== null) values.set(stmt.variable, value);
  });
  const steps = ranges.map((range) => Number(valueOf(range, values) ?? unknownSteps));
  return Math.max(0, ...steps);
}

/** The value of an expression that reads no memory; null for others. */
function valueOf(expr: Expr, values: ReadonlyMap<Var, Lane>): Lane | null {
  const of = (operand: Expr): Lane | null => valueOf(operand, values);
  if (expr.type.lanes > 1) return null;
  switch (expr.kind) {
    case 'const':
      return expr.value;
    case 'var':
      return values.get(expr) ?? null;
    case 'unary': {
      const x = of(expr.x);
      return x === null ? null : unaryLane(expr.op, expr.x.type.scalar)(x);
    }
    case 'cast': {
      const x = of(expr.x);
      return x === null ? null : castLane(expr.x.type.scalar, expr.type.scalar)(x);
    }
    case 'binary': {
      const [a, b] = [of(expr.a), of(expr.b)];
      if (a === null || b === null) return null;
      try {
        return binaryLane(expr.op, expr.a.type.scalar)(a, b);
      } catch (error) {
        // A size may be 0 where nothing is divided by it in the end.
        if (error instanceof UndefinedDivision) return null;
        throw error;
      }
    }
    case 'select': {
      const condition = of(expr.condition);
      return condition === null ? null : of(condition === 0 ? expr.b : expr.a);
    }
    default:
      return null;
  }
}
