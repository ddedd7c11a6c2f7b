import type { BinaryExpr, Expr, Kernel, Var } from '../../loop/language/nodes.js';
import { assignedVariables, visitStmts } from '../../loop/language/visit.js';

/**
 * Knowledge of what drivers may rewrite. They take float arithmetic for that of real numbers: `(x + c) - c` becomes `x`,
 * `x * 0` becomes 0, `x - x` becomes 0, `x * c + y * c` becomes `(x + y) * c` and `x * y * c` becomes `x * (y * c)`,
 * which may be out of range and are rounded otherwise, and a choice between two floats by their order becomes a minimum
 * that loses NaN. An operand that they cannot see through (`k_exact`) prevents all of these.
 */
export class Exactness {
  /** Values of locals that are never assigned. */
  readonly #values: Map<Var, Expr> = new Map();

  constructor({ body }: Kernel) {
    const assigned = assignedVariables(body);
    visitStmts(body, (stmt) => {
      if (stmt.kind === 'declare' && !assigned.has(stmt.variable)) {
        this.#values.set(stmt.variable, stmt.value);
      }
    });
  }

  /** The value of a local, as long as that is the value of another one, in one lane where all are alike. */
  resolve(expr: Expr): Expr {
    let value = expr;
    for (;;) {
      const known = value.kind === 'var' ? this.#values.get(value) : value.kind === 'broadcast' ? value.x : undefined; // prettier-ignore
      if (known === undefined) return value;
      value = known;
    }
  }

  /** True where drivers must not see how an operand of float arithmetic has been computed. */
  hidesOperand({ op, a, b }: BinaryExpr, which: 'a' | 'b'): boolean {
    const operand = this.resolve(which === 'a' ? a : b);
    const other = this.resolve(which === 'a' ? b : a);
    // One of two equal ones: both would still be equal.
    if (other === operand) {
      return which === 'b' && (op === 'sub' || op === 'div' || (op === 'add' && isSum(operand)));
    }
    if (op === 'add' || op === 'sub') {
      return (
        isSum(operand) || isZero(operand) || (which === 'b' && this.#sharesFactor(operand, other))
      );
    }
    if (op === 'mul' || op === 'div') {
      if (isZero(operand)) return true;
      // A constant would be multiplied with one of the factors.
      return other.kind === 'const' && isProduct(operand);
    }
    return false;
  }

  /**
   * True for the product that widens the bits of a float16, which are in place but for the exponent: those of a subnormal
   * one are a subnormal float32, and GPUs may take these for 0.
   */
  widensHalf({ op, a, b }: BinaryExpr): boolean {
    const [bits, factor] = [this.resolve(a), this.resolve(b)];
    if (op !== 'mul' || factor.kind !== 'const' || factor.value !== 2 ** 112) return false;
    if (bits.kind !== 'bitcast' || bits.x.type.scalar !== 'i32') return false;
    const shifted = this.resolve(bits.x);
    return shifted.kind === 'binary' && shifted.op === 'shl';
  }

  /** True for two products with a common factor, which could be taken out: the sum of the others may be out of range. */
  #sharesFactor(x: Expr, y: Expr): boolean {
    const factors = this.#factorsOf(x);
    return this.#factorsOf(y).some((each) => factors.some((factor) => isSame(each, factor)));
  }

  #factorsOf(expr: Expr): readonly Expr[] {
    if (expr.kind !== 'binary' || expr.op !== 'mul') return [];
    return [this.resolve(expr.a), this.resolve(expr.b)];
  }

  /** True where an arm of a choice between floats is an operand of the comparison that decides. */
  hidesArm(condition: Expr, arm: Expr): boolean {
    const decided = this.resolve(condition);
    if (decided.kind !== 'binary' || decided.a.type.scalar !== 'f32') return false;
    const value = this.resolve(arm);
    return [decided.a, decided.b].some((operand) => isSame(this.resolve(operand), value));
  }
}

function isSame(a: Expr, b: Expr): boolean {
  return a === b || (a.kind === 'const' && b.kind === 'const' && Object.is(a.value, b.value));
}

function isProduct(expr: Expr): boolean {
  return expr.kind === 'binary' && (expr.op === 'mul' || expr.op === 'div');
}

function isSum(expr: Expr): boolean {
  if (expr.kind === 'unary') return expr.op === 'neg' && isSum(expr.x);
  return expr.kind === 'binary' && (expr.op === 'add' || expr.op === 'sub');
}

function isZero(expr: Expr): boolean {
  return expr.kind === 'const' && Number(expr.value) === 0;
}
