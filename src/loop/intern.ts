import type { Buffer, Expr, Var } from './nodes.js';
import { children } from './visit.js';

/**
 * Makes structurally equal expressions one object, so that identity decides equality. Keys have a
 * bounded size: operands stand in them by number.
 */
export class Interner {
  readonly #numbers: Map<Expr | Buffer, number> = new Map();
  readonly #known: Map<string, Expr> = new Map();

  /** The one object equal to `expr`, whose operands must be interned already. */
  intern(expr: Expr): Expr {
    if (this.#numbers.has(expr)) return expr;
    if (expr.kind === 'var') {
      this.number(expr);
      return expr;
    }
    const key = this.#key(expr);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#known.set(key, expr);
    this.number(expr);
    return expr;
  }

  /** A number that is this object's own; earlier objects have smaller ones. */
  number(of: Expr | Buffer | Var): number {
    let number = this.#numbers.get(of);
    if (number === undefined) this.#numbers.set(of, (number = this.#numbers.size));
    return number;
  }

  #key(expr: Exclude<Expr, Var>): string {
    return nodeKey(
      expr,
      children(expr).map((child) => this.number(child)),
      (buffer) => this.number(buffer),
    );
  }
}

/** What tells a node from others, given numbers that stand for its operands. Not for variables. */
export function nodeKey(
  expr: Exclude<Expr, Var>,
  operands: readonly number[],
  bufferNumber: (buffer: Buffer) => number,
): string {
  const { scalar, lanes } = expr.type;
  let detail = '';
  if (expr.kind === 'const') detail = Object.is(expr.value, -0) ? '-0' : String(expr.value);
  else if (expr.kind === 'unary' || expr.kind === 'binary') detail = expr.op;
  else if (expr.kind === 'extract') detail = String(expr.lane);
  else if (expr.kind === 'load') detail = String(bufferNumber(expr.buffer));
  return `${expr.kind} ${detail} ${scalar}x${lanes} ${operands.join(' ')}`;
}
