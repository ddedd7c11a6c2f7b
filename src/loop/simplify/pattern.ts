import { broadcast, variable } from '../language/build.js';
import type { Expr, Scalar, Var } from '../language/nodes.js';
import { children, substitution } from '../language/visit.js';

/**
 * A law `left = right`, true for all values of its holes. Rewriting goes from left to right. A law
 * holds exactly, bit for bit but for the payload of NaN: a test tries each on random and edge values.
 */
export interface ExprLaw {
  readonly name: string;
  /** In words, with the reason where it is not plain. */
  readonly law: string;
  /** The types it holds for; each gets its own copy. */
  readonly scalars: readonly Scalar[];
  readonly sides: (scalar: Scalar) => Sides;
}

export interface Sides {
  readonly left: Expr;
  readonly right: Expr;
  /** Holes that only a constant fills, for which this must hold. */
  readonly constants?: ReadonlyMap<Var, (value: number | bigint) => boolean>;
}

/** A hole that any expression fills. */
export function hole(name: string, scalar: Scalar): Var {
  return variable(name, scalar);
}

/** A law with holes `x` and `y` for any expressions of the type it holds for. */
export function law(
  name: string,
  words: string,
  scalars: readonly Scalar[],
  sides: (x: Expr, y: Expr, t: Scalar) => readonly [left: Expr, right: Expr],
): ExprLaw {
  return {
    name,
    law: words,
    scalars,
    sides: (t) => {
      const [left, right] = sides(hole('x', t), hole('y', t), t);
      return { left, right };
    },
  };
}

/**
 * The right side of a law where its left side matches an expression, else null. Equal operands must
 * be one object. Patterns are written for scalars and match vectors, whose constants have equal lanes.
 */
export function applySides({ left, right, constants }: Sides, expr: Expr): Expr | null {
  const bound = new Map<Var, Expr>();
  const match = (pattern: Expr, subject: Expr): boolean => {
    if (pattern.kind === 'var') {
      if (pattern.type.scalar !== subject.type.scalar) return false;
      const known = bound.get(pattern);
      if (known !== undefined) return known === subject;
      const accepts = constants?.get(pattern);
      if (accepts !== undefined && !(subject.kind === 'const' && accepts(subject.value)))
        return false;
      bound.set(pattern, subject);
      return true;
    }
    if (!isAlike(pattern, subject)) return false;
    const operands = children(subject);
    return children(pattern).every((child, i) => match(child, operands[i]));
  };
  if (!match(left, expr)) return null;
  return broadcast(substitution(bound)(right), expr.type.lanes);
}

/** True when a pattern, not a hole, and a node agree in all but operands and lanes. */
function isAlike(pattern: Expr, subject: Expr): boolean {
  if (pattern.kind !== subject.kind || pattern.type.scalar !== subject.type.scalar) return false;
  if (pattern.kind === 'const') return Object.is(pattern.value, (subject as typeof pattern).value);
  if (pattern.kind === 'unary' || pattern.kind === 'binary')
    return pattern.op === (subject as typeof pattern).op;
  return true;
}

/** A look at the operands only: it turns nearly everything away before anything is allocated. */
function mayMatch(patterns: readonly Expr[], operands: readonly Expr[]): boolean {
  for (let i = 0; i < patterns.length; i++) {
    if (patterns[i].kind !== 'var' && !isAlike(patterns[i], operands[i])) return false;
  }
  return true;
}

/**
 * Laws by the kind and operation of their left side, so that few are tried on a node. Those of a scalar
 * are made when it is first seen: what is imported makes none, and few programs have all of them. It is
 * seen before a law of it can match, since operands are simplified before what they are operands of.
 */
export class LawTable {
  readonly #laws: readonly ExprLaw[];
  readonly #seen: Record<Scalar, boolean> = {
    f32: false,
    f64: false,
    i32: false,
    i64: false,
    bool: false,
  };
  readonly #byRoot: Readonly<Record<Scalar, Map<string, Candidate[]>>> = {
    f32: new Map(),
    f64: new Map(),
    i32: new Map(),
    i64: new Map(),
    bool: new Map(),
  };

  constructor(laws: readonly ExprLaw[]) {
    this.#laws = laws;
  }

  #see(scalar: Scalar): void {
    this.#seen[scalar] = true;
    this.#laws.forEach((law, order) => {
      if (!law.scalars.includes(scalar)) return;
      const sides = law.sides(scalar);
      const table = this.#byRoot[sides.left.type.scalar];
      const operands = children(sides.left);
      const fixed = operands.findIndex(({ kind }) => kind !== 'var');
      const candidate = { sides, operands, fixed, order };
      const list = table.get(rootName(sides.left)) ?? [];
      // In the order of the laws, whatever was seen first.
      const at = list.findIndex((other) => other.order > order);
      list.splice(at < 0 ? list.length : at, 0, candidate);
      table.set(rootName(sides.left), list);
    });
  }

  /** The result of the first law that matches; `operands` are those of the expression. */
  apply(expr: Expr, operands: readonly Expr[]): Expr | null {
    if (!this.#seen[expr.type.scalar]) this.#see(expr.type.scalar);
    for (let i = 0; i < operands.length; i++) {
      const { scalar } = operands[i].type;
      if (!this.#seen[scalar]) this.#see(scalar);
    }
    const list = this.#byRoot[expr.type.scalar].get(rootName(expr));
    if (list === undefined) return null;
    for (let i = 0; i < list.length; i++) {
      const candidate = list[i];
      const { fixed } = candidate;
      // One look turns nearly all of them away.
      if (fixed >= 0 && operands[fixed].kind !== candidate.operands[fixed].kind) continue;
      if (!mayMatch(candidate.operands, operands)) continue;
      const result = applySides(candidate.sides, expr);
      if (result !== null) return result;
    }
    return null;
  }
}

interface Candidate {
  readonly sides: Sides;
  /** Of the left side. */
  readonly operands: readonly Expr[];
  /** The first operand that is not just a hole; -1 where all are. */
  readonly fixed: number;
  /** Its place among the laws. */
  readonly order: number;
}

/** No operation has the name of a kind. */
function rootName(expr: Expr): string {
  return expr.kind === 'unary' || expr.kind === 'binary' ? expr.op : expr.kind;
}
