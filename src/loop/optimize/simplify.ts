import { separateBindings } from '../analysis/bindings.js';
import * as e from '../language/build.js';
import { removeDeadLocals } from '../analysis/dead.js';
import type { Declare, Expr, For, If, Kernel, Stmt } from '../language/nodes.js';
import { addScaled, constantPolynomial, zeroPolynomial } from '../analysis/polynomial.js';
import { Purity } from '../analysis/purity.js';
import { ExprSimplifier } from '../simplify/expressions.js';
import { assignedVariables, mapStmt, withBody } from '../language/visit.js';

/**
 * Rewrites every expression by the laws of `simplify/`, and removes dead code: loops without trips, branches
 * not taken, locals never read. Locals that only rename an index or a condition are inlined, so that index
 * arithmetic is seen as a whole; `share` names parts again.
 */
export function simplifyKernel(kernel: Kernel): Kernel {
  const separate = separateBindings(kernel);
  const body = new StmtSimplifier(separate).simplify(separate.body, 0);
  return withBody(kernel, removeDeadLocals(body));
}

const nothing = e.block();
const isNothing = (stmt: Stmt): boolean => stmt.kind === 'block' && stmt.body.length === 0;

class StmtSimplifier {
  readonly #exprs: ExprSimplifier;
  readonly #purity: Purity;

  constructor(kernel: Kernel) {
    this.#exprs = new ExprSimplifier(kernel);
    this.#purity = new Purity(assignedVariables(kernel.body));
  }

  simplify(stmt: Stmt, depth: number): Stmt {
    switch (stmt.kind) {
      case 'declare':
        return this.#declare(stmt, depth);
      case 'for':
        return this.#loop(stmt, depth);
      case 'if':
        return this.#branch(stmt, depth);
      case 'while': {
        const condition = this.#expr(stmt.condition);
        if (isFalse(condition)) return nothing;
        return e.whileLoop(condition, this.simplify(stmt.body, depth));
      }
      default: {
        const mapped = mapStmt(stmt, {
          expr: (expr) => this.#expr(expr),
          stmt: (inner) => this.simplify(inner, depth),
        });
        return mapped.kind === 'assign' && mapped.value === mapped.variable ? nothing : mapped;
      }
    }
  }

  #expr(expr: Expr): Expr {
    return this.#exprs.simplify(expr);
  }

  #declare({ variable, value }: Declare, depth: number): Stmt {
    const simple = this.#expr(value);
    const immutable = this.#purity.isConstant(variable);
    if (immutable && this.#standsFor(simple)) {
      this.#exprs.define(variable, simple);
      return nothing;
    }
    this.#exprs.facts.enterLocal(variable, depth, immutable ? simple : null);
    return e.declare(variable, simple);
  }

  /** True when a local with this value is better inlined. */
  #standsFor(value: Expr): boolean {
    if (value.kind === 'const') return true;
    if (value.kind === 'var') return this.#purity.isConstant(value);
    const { scalar } = value.type;
    return (scalar === 'i32' || scalar === 'bool') && this.#purity.isHarmless(value);
  }

  #loop(loop: For, depth: number): Stmt {
    const { facts } = this.#exprs;
    const [begin, end] = [this.#expr(loop.begin), this.#expr(loop.end)];
    if (facts.isExact(begin) && facts.isExact(end)) {
      const length = addScaled(facts.polynomial(end), facts.polynomial(begin), -1, 'integers');
      const negated = addScaled(zeroPolynomial, length, -1, 'integers');
      if (facts.isNonNegative(negated)) return nothing;
      const longest = addScaled(negated, constantPolynomial(loop.step), 1, 'integers');
      if (facts.isPositive(length) && facts.isNonNegative(longest))
        return this.#onlyTrip(loop, begin, depth);
    }
    // The variable's bounds must be loop-invariant: otherwise only the range is kept.
    const known = { ...loop, begin: this.#lasting(begin), end: this.#lasting(end) };
    facts.enterLoop(known, depth + 1);
    const body = this.simplify(loop.body, depth + 1);
    return isNothing(body) ? nothing : { ...loop, begin, end, body };
  }

  #lasting(bound: Expr): Expr {
    if (this.#purity.isConstant(bound)) return bound;
    const unknown = e.variable('bound', 'i32');
    this.#exprs.facts.enterLocal(unknown, 0, bound);
    return unknown;
  }

  #onlyTrip(loop: For, begin: Expr, depth: number): Stmt {
    if (this.#purity.isHarmless(begin)) {
      this.#exprs.define(loop.variable, begin);
      return this.simplify(loop.body, depth);
    }
    this.#exprs.facts.enterLocal(loop.variable, depth, begin);
    return e.block(e.declare(loop.variable, begin), this.simplify(loop.body, depth));
  }

  #branch(branch: If, depth: number): Stmt {
    const condition = this.#expr(branch.condition);
    if (isFalse(condition))
      return branch.alternate === null ? nothing : this.simplify(branch.alternate, depth);
    if (condition.kind === 'const') return this.simplify(branch.consequent, depth);
    const consequent = this.simplify(branch.consequent, depth);
    const alternate = branch.alternate === null ? nothing : this.simplify(branch.alternate, depth);
    if (!isNothing(consequent))
      return e.ifThen(condition, consequent, isNothing(alternate) ? null : alternate);
    return isNothing(alternate) ? nothing : e.ifThen(this.#expr(e.not(condition)), alternate);
  }
}

function isFalse(condition: Expr): boolean {
  return condition.kind === 'const' && condition.value === 0;
}
