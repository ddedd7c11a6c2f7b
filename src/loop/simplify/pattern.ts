import { broadcast, variable } from '../build.js';
import type { Expr, Scalar, Var } from '../nodes.js';
import { children, substitution } from '../visit.js';

/**
 * A law `left = right`, true for all values of its holes. Rewriting goes from left to right. A law
 * holds exactly, bit for bit but for the payload of NaN: a test tries each on random and edge values.
 */
export interface Law {
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

/**
 * The right side of a law where its left side matches an expression, else null. Equal operands must
 * be one object. Patterns are written for scalars and match vectors, whose constants have equal lanes.
 */
export function applySides({ left, right, constants }: Sides, expr: Expr): Expr | null {
  const bound = new Map<Var, Expr>();
  const match = (pattern: Expr, subject: Expr): boolean => {
    if (pattern.type.scalar !== subject.type.scalar) return false;
    if (pattern.kind === 'var') {
      const known = bound.get(pattern);
      if (known !== undefined) return known === subject;
      const accepts = constants?.get(pattern);
      if (accepts !== undefined && !(subject.kind === 'const' && accepts(subject.value)))
        return false;
      bound.set(pattern, subject);
      return true;
    }
    if (pattern.kind !== subject.kind) return false;
    if (pattern.kind === 'const')
      return Object.is(pattern.value, (subject as typeof pattern).value);
    if (pattern.kind === 'unary' || pattern.kind === 'binary') {
      if (pattern.op !== (subject as typeof pattern).op) return false;
    }
    const operands = children(subject);
    return children(pattern).every((child, i) => match(child, operands[i]));
  };
  if (!match(left, expr)) return null;
  return broadcast(substitution(bound)(right), expr.type.lanes);
}

/** Laws by the kind and operation of their left side, so that few are tried on a node. */
export class LawTable {
  readonly #byRoot: Map<string, Sides[]> = new Map();

  constructor(laws: readonly Law[]) {
    for (const law of laws) {
      for (const scalar of law.scalars) {
        const sides = law.sides(scalar);
        const key = rootKey(sides.left);
        const list = this.#byRoot.get(key);
        if (list === undefined) this.#byRoot.set(key, [sides]);
        else list.push(sides);
      }
    }
  }

  apply(expr: Expr): Expr | null {
    for (const sides of this.#byRoot.get(rootKey(expr)) ?? []) {
      const result = applySides(sides, expr);
      if (result !== null) return result;
    }
    return null;
  }
}

function rootKey(expr: Expr): string {
  const op = expr.kind === 'unary' || expr.kind === 'binary' ? expr.op : '';
  return `${expr.kind} ${op} ${expr.type.scalar}`;
}
