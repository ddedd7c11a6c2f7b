import type { Expr, Var } from '../language/nodes.js';
import { children } from '../language/visit.js';

/** True for an operation that may be undefined: an integer division by a possible 0 or -1. */
export function mayTrap(expr: Expr): boolean {
  if (expr.kind !== 'binary' || (expr.op !== 'div' && expr.op !== 'rem')) return false;
  const { scalar } = expr.type;
  if (scalar !== 'i32' && scalar !== 'i64') return false;
  if (expr.b.kind !== 'const') return true;
  const divisor = Number(expr.b.value);
  return divisor === 0 || divisor === -1;
}

/** Cache of expressions whose values do not change while their variables are in scope. */
export class Purity {
  readonly #assigned: ReadonlySet<Var>;
  readonly #constant: Map<Expr, boolean> = new Map();
  readonly #harmless: Map<Expr, boolean> = new Map();

  constructor(assigned: ReadonlySet<Var>) {
    this.#assigned = assigned;
  }

  /** Reads neither memory nor a variable that is ever assigned. */
  isConstant(expr: Expr): boolean {
    let answer = this.#constant.get(expr);
    if (answer === undefined) {
      answer =
        expr.kind === 'var'
          ? !this.#assigned.has(expr)
          : expr.kind !== 'load' && children(expr).every((child) => this.isConstant(child));
      this.#constant.set(expr, answer);
    }
    return answer;
  }

  /** Constant, and may be evaluated speculatively. */
  isHarmless(expr: Expr): boolean {
    let answer = this.#harmless.get(expr);
    if (answer === undefined) {
      answer =
        this.isConstant(expr) &&
        !mayTrap(expr) &&
        children(expr).every((child) => this.isHarmless(child));
      this.#harmless.set(expr, answer);
    }
    return answer;
  }
}
