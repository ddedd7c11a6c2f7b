import { i32 } from '../language/build.js';
import type { Expr, Stmt, Var } from '../language/nodes.js';
import { assignedVariables, children, visitNew, visitStmts } from '../language/visit.js';

/** Powers of two beyond which nobody asks. */
const most = 64;

/**
 * Powers of two that divide the values of i32 expressions: those that every value is certainly a multiple of, where
 * integers wrap, too.
 */
export class Multiples {
  /** By variable that is never assigned: expressions whose common divisors divide its values. */
  readonly #sources: Map<Var, Expr[]> = new Map();
  readonly #known: Map<Expr, number> = new Map();

  constructor(body: Stmt) {
    const assigned = assignedVariables(body);
    const note = (variable: Var, ...sources: readonly Expr[]): void => {
      const known = this.#sources.get(variable);
      if (known === undefined) this.#sources.set(variable, [...sources]);
      else known.push(...sources);
    };
    visitStmts(body, (stmt) => {
      if (stmt.kind === 'for') note(stmt.variable, stmt.begin, i32(stmt.step));
      else if (stmt.kind === 'declare' && !assigned.has(stmt.variable)) {
        note(stmt.variable, stmt.value);
      }
    });
  }

  /** The greatest power of two, up to 64, that certainly divides a value. */
  of(expr: Expr): number {
    visitNew([expr], this.#known, (inner) => void this.#known.set(inner, this.#compute(inner)));
    return this.#known.get(expr)!;
  }

  #compute(expr: Expr): number {
    if (expr.type.scalar !== 'i32') return 1;
    const of = (operand: Expr): number => this.#known.get(operand) ?? this.of(operand);
    switch (expr.kind) {
      case 'const':
        return divisorOf(Number(expr.value));
      case 'var':
        return Math.min(...(this.#sources.get(expr)?.map(of) ?? [1]));
      case 'unary':
        return expr.op === 'not' ? 1 : of(expr.x);
      case 'select':
        return Math.min(of(expr.a), of(expr.b));
      case 'binary':
        break;
      default:
        return 1;
    }
    const [a, b] = children(expr).map(of);
    switch (expr.op) {
      case 'mul':
        return Math.min(a * b, most);
      case 'and':
        return Math.max(a, b);
      case 'shl':
        return expr.b.kind === 'const' ? Math.min(a * 2 ** (Number(expr.b.value) & 31), most) : a;
      case 'add':
      case 'sub':
      case 'rem':
      case 'min':
      case 'max':
      case 'or':
      case 'xor':
        return Math.min(a, b);
      default:
        return 1;
    }
  }
}

/** The greatest power of two, up to 64, that divides a number. */
function divisorOf(value: number): number {
  return value === 0 ? most : Math.min(Math.abs(value & -value), most);
}
