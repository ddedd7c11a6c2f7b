import type { Expr, Kernel, Stmt, Var } from '../../loop/language/nodes.js';
import { binaryLane, castLane, type Lane, unaryLane, UndefinedDivision } from '../../loop/language/scalar.js'; // prettier-ignore
import { visitStmts } from '../../loop/language/visit.js';

/** Workgroups for a range about which nothing is known before data is read. */
const unknownGroups = 2 ** 8;

/** Numbers among the arguments of a kernel; undefined for buffers. */
type Numbers = readonly (number | undefined)[];

/**
 * Counts the most steps that a range of a kernel has, from the numbers among its arguments. Sizes that a kernel reads are
 * taken at their bounds, variables of loops around ranges at their beginning: this decides how many invocations there
 * are, and any number of them does all steps.
 *
 * @param groupSteps Steps of a workgroup.
 */
export function stepCounter(
  { params, body }: Pick<Kernel, 'params' | 'body'>,
  ranges: readonly Expr[],
  groupSteps: number,
): (numbers: Numbers) => number {
  /** Values of variables at their first definition. */
  const definitions = new Map<Var, Expr>();
  visitStmts(body, (stmt: Stmt) => {
    if (stmt.kind === 'for') definitions.set(stmt.variable, stmt.begin);
    else if (stmt.kind === 'declare') definitions.set(stmt.variable, stmt.value);
  });
  return (numbers) => {
    const values = new Map<Var, Lane>();
    params.forEach((param, k) => {
      const given = numbers[k];
      if (param.kind !== 'var' || given === undefined) return;
      values.set(param, param.type.scalar === 'i64' ? BigInt(given) : given);
    });
    const evaluation = new Evaluation(values, definitions);
    const unknown = unknownGroups * groupSteps;
    const steps = ranges.map((range) => Number(evaluation.valueOf(range) ?? unknown));
    return Math.max(0, ...steps);
  };
}

/** Values of expressions, each found once: expressions share their parts, and are exponentially large as trees. */
class Evaluation {
  readonly #values: ReadonlyMap<Var, Lane>;
  readonly #definitions: ReadonlyMap<Var, Expr>;
  readonly #known: Map<Expr, Lane | null> = new Map();

  constructor(values: ReadonlyMap<Var, Lane>, definitions: ReadonlyMap<Var, Expr>) {
    this.#values = values;
    this.#definitions = definitions;
  }

  /** The value of an expression; its bound where that is the minimum of what is read and a number. Null for others. */
  valueOf(expr: Expr): Lane | null {
    let value = this.#known.get(expr);
    if (value === undefined) this.#known.set(expr, (value = this.#compute(expr)));
    return value;
  }

  #compute(expr: Expr): Lane | null {
    const of = (operand: Expr): Lane | null => this.valueOf(operand);
    if (expr.type.lanes > 1) return null;
    switch (expr.kind) {
      case 'const':
        return expr.value;
      case 'var':
        return this.#values.get(expr) ?? this.#defined(expr);
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
        if (expr.op === 'min') return a === null || b === null ? (a ?? b) : binaryLane('min', expr.a.type.scalar)(a, b); // prettier-ignore
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

  #defined(variable: Var): Lane | null {
    const definition = this.#definitions.get(variable);
    return definition === undefined ? null : this.valueOf(definition);
  }
}
