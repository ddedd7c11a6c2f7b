import type { Buffer, Expr, ExprType, Kernel, Stmt } from './nodes.js';
import { children, ownExprs, ownStmts, visitNew } from './visit.js';

/**
 * A text that two kernels have in common exactly when they do the same to their parameters in the same
 * way: names do not count, nor whether an expression that occurs twice is one object. Linear in the
 * distinct nodes of the kernel. `calleeNumber` tells the kernels that it calls apart.
 */
export function structureOf(kernel: Kernel, calleeNumber: (callee: Kernel) => number): string {
  const structure = new Structure(calleeNumber);
  for (const param of kernel.params) structure.leaf(param);
  structure.stmt(kernel.body);
  return structure.text;
}

/**
 * Writes one item after the other, each ended by a semicolon. Items that compute something are numbered
 * in order of appearance and referred to by number; variables and buffers are such items, too.
 */
class Structure {
  text = '';
  readonly #calleeNumber: (callee: Kernel) => number;
  readonly #numbers: Map<Expr | Buffer, number> = new Map();
  readonly #known: Map<string, number> = new Map();
  #next = 0;

  constructor(calleeNumber: (callee: Kernel) => number) {
    this.#calleeNumber = calleeNumber;
  }

  leaf(of: Extract<Expr, { kind: 'var' }> | Buffer): number {
    let number = this.#numbers.get(of);
    if (number === undefined) {
      number = this.#next++;
      this.#numbers.set(of, number);
      this.text += of.kind === 'buffer' ? `buffer ${of.storage};` : `var ${typeText(of.type)};`;
    }
    return number;
  }

  stmt(stmt: Stmt): void {
    const operands = ownExprs(stmt).map((expr) => this.#expr(expr));
    this.text += `${this.#head(stmt)} ${operands.join(' ')};`;
    const inside = ownStmts(stmt);
    if (inside.length === 0) return;
    for (const inner of inside) this.stmt(inner);
    this.text += 'end;';
  }

  /** What tells statements apart beside their operands and what is inside them. */
  #head(stmt: Stmt): string {
    switch (stmt.kind) {
      case 'for':
        return `for ${stmt.mode} ${stmt.step} ${this.leaf(stmt.variable)}`;
      case 'declare':
      case 'assign':
        return `${stmt.kind} ${this.leaf(stmt.variable)}`;
      case 'store':
        return `store ${this.leaf(stmt.buffer)}`;
      case 'call':
        return `call ${this.#calleeNumber(stmt.kernel)}`;
      default:
        return stmt.kind;
    }
  }

  #expr(root: Expr): number {
    visitNew([root], this.#numbers, (expr) => {
      if (expr.kind === 'var') this.leaf(expr);
      else this.#numbers.set(expr, this.#number(expr));
    });
    return this.#numbers.get(root)!;
  }

  #number(expr: Exclude<Expr, { kind: 'var' }>): number {
    let item = `${this.#operation(expr)} ${typeText(expr.type)}`;
    for (const operand of children(expr)) item += ` ${this.#numbers.get(operand)!}`;
    let number = this.#known.get(item);
    if (number === undefined) {
      number = this.#next++;
      this.#known.set(item, number);
      this.text += `${item};`;
    }
    return number;
  }

  #operation(expr: Expr): string {
    switch (expr.kind) {
      case 'const':
        return Object.is(expr.value, -0) ? 'const -0' : `const ${expr.value}`;
      case 'unary':
      case 'binary':
        return expr.op;
      case 'extract':
        return `extract ${expr.lane}`;
      case 'load':
        return `load ${this.leaf(expr.buffer)}`;
      default:
        return expr.kind;
    }
  }
}

function typeText({ scalar, lanes }: ExprType): string {
  return `${scalar}x${lanes}`;
}
