import * as e from '../language/build.js';
import type { Facts } from '../analysis/facts.js';
import type { BinaryExpr, Expr } from '../language/nodes.js';
import {
  addScaled,
  constantPolynomial,
  constantValue,
  divideTerm,
  greatestCommonDivisor,
  isAtom,
  multiply,
  type NumberOf,
  type Polynomial,
  toExpr,
  zeroPolynomial,
} from '../analysis/polynomial.js';

/** Facts for the rules on indices. */
export interface IndexContext {
  readonly facts: Facts;
  readonly numberOf: NumberOf;
  /** A simplified, interned expression. */
  readonly simplify: (expr: Expr) => Expr;
}

export interface IndexRule {
  readonly name: string;
  readonly law: string;
  /** The operations that the rule looks at; operands are scalar i32. */
  readonly ops: ReadonlySet<string>;
  /** The simpler expression, or null where the rule does not apply. */
  apply(expr: Expr, context: IndexContext): Expr | null;
}

const ordered: ReadonlySet<string> = new Set(['lt', 'le', 'gt', 'ge']);

/** Rules on scalar i32 expressions that need polynomials or ranges, tried in order. */
export const indexRules: readonly IndexRule[] = [
  {
    name: 'collect-terms',
    law: 'i32 is the ring of integers modulo 2^32: terms may be multiplied out, collected and put in order.',
    ops: new Set(['add', 'sub', 'mul', 'neg', 'shl']),
    apply: collectTerms,
  },
  {
    name: 'divide-polynomial',
    law: 'If x = q * n + r with q >= 0 and 0 <= r < n, then x / n = q and x % n = r. If only r >= 0, then x / n = q + r / n and x % n = r % n for n > 0. If r = 0, the signs do not matter.',
    ops: new Set(['div', 'rem']),
    apply: dividePolynomial,
  },
  {
    name: 'divide-common-factor',
    law: 'If g > 0 divides n and all coefficients of x but the constant c, and x >= 0 and c >= 0, then x / n = ((x - c) / g + c / g) / (n / g); with c divisible by g also for negative x.',
    ops: new Set(['div']),
    apply: divideCommonFactor,
  },
  {
    name: 'divide-twice',
    law: '(x / a) / b = x / (a * b) for positive constants whose product is an i32.',
    ops: new Set(['div']),
    apply: divideTwice,
  },
  {
    name: 'remainder-twice',
    law: '(x % a) % b = x % b where the constant b > 0 divides the constant a.',
    ops: new Set(['rem']),
    apply: remainderTwice,
  },
  {
    name: 'decide-comparison',
    law: 'a < b is true where b - a >= 1 and false where a - b >= 0; the other comparisons likewise.',
    ops: new Set([...ordered, 'eq', 'ne']),
    apply: decideComparison,
  },
  {
    name: 'decide-extremum',
    law: 'min(a, b) = a and max(a, b) = b where b - a >= 0.',
    ops: new Set(['min', 'max']),
    apply: decideExtremum,
  },
];

function collectTerms(expr: Expr, context: IndexContext): Expr | null {
  const { facts, numberOf } = context;
  // Sums of loaded data keep their order: reordering gains nothing there.
  if (facts.readsMemory(expr)) return null;
  const p = facts.polynomial(expr);
  if (isAtom(p, expr)) return null;
  return toExpr(joinDivisions(p, context), (atom) => facts.depth(atom), numberOf);
}

/** x / n * n + x % n = x, whatever the signs: the definition of the remainder. */
function joinDivisions(p: Polynomial, context: IndexContext): Polynomial {
  const { facts, numberOf, simplify } = context;
  for (const { coefficient, atoms } of p.values()) {
    for (let at = 0; at < atoms.length; at++) {
      const atom = atoms[at];
      if (atom.kind !== 'binary' || atom.op !== 'rem') continue;
      const quotient = facts.polynomial(simplify(e.div(atom.a, atom.b)));
      let others = constantPolynomial(coefficient);
      atoms.forEach((other, i) => {
        if (i !== at) others = multiply(others, facts.polynomial(other), numberOf);
      });
      const product = multiply(quotient, facts.polynomial(atom.b), numberOf);
      const missing = multiply(others, product, numberOf);
      const present = [...missing].every(([key, t]) => p.get(key)?.coefficient === t.coefficient);
      if (!present || missing.size === 0) continue;
      const without = addScaled(p, missing, -1);
      const term = multiply(others, facts.polynomial(atom), numberOf);
      const dividend = multiply(others, facts.polynomial(atom.a), numberOf);
      return joinDivisions(addScaled(addScaled(without, term, -1), dividend, 1), context);
    }
  }
  return p;
}

function dividePolynomial(expr: Expr, context: IndexContext): Expr | null {
  const { op, a, b } = expr as BinaryExpr;
  const { facts, numberOf } = context;
  const [p, n] = [facts.polynomial(a), facts.polynomial(b)];
  if (n.size === 0 || !facts.isExact(a) || !facts.isExact(b)) return null;
  const [quotient, remainder] = split(p, n, numberOf);
  const write = (q: Polynomial): Expr => toExpr(q, (atom) => facts.depth(atom), numberOf);
  if (remainder.size === 0) return op === 'div' ? write(quotient) : e.i32(0);
  const below = addScaled(n, remainder, -1, 'integers');
  if (!facts.isNonNegative(remainder) || !facts.isNonNegative(quotient)) return null;
  if (facts.isPositive(below)) return write(op === 'div' ? quotient : remainder);
  if (quotient.size === 0 || !facts.isPositive(n)) return null;
  if (op === 'rem') return e.rem(write(remainder), b);
  return e.add(write(quotient), e.div(write(remainder), b));
}

/** Long division by the leading term; what is left over need not be smaller than the divisor. */
function split(
  p: Polynomial,
  n: Polynomial,
  numberOf: NumberOf,
): [quotient: Polynomial, remainder: Polynomial] {
  let [quotient, remainder] = [zeroPolynomial, p];
  const divisor = constantValue(n);
  if (divisor !== null && divisor > 0) {
    // Constants divide term by term, rounding down, so that the remainder of a constant is not negative.
    for (const [key, { coefficient, atoms }] of p) {
      const times = key === '' ? Math.floor(coefficient / divisor) : coefficient / divisor;
      if (!Number.isInteger(times) || times === 0) continue;
      quotient = addScaled(quotient, new Map([[key, { coefficient: times, atoms }]]), 1);
    }
  } else {
    const leading = [...n.values()].reduce((most, term) =>
      term.atoms.length > most.atoms.length ? term : most,
    );
    if (leading.atoms.length === 0) return [quotient, remainder];
    for (const term of p.values()) {
      const times = divideTerm(term, leading, numberOf);
      if (times !== null) quotient = addScaled(quotient, times, 1);
    }
  }
  remainder = addScaled(p, multiply(quotient, n, numberOf), -1);
  return [quotient, remainder];
}

function divideCommonFactor(expr: Expr, { facts, numberOf }: IndexContext): Expr | null {
  const { a, b } = expr as BinaryExpr;
  if (b.kind !== 'const' || !facts.isExact(a)) return null;
  const p = facts.polynomial(a);
  const constant = p.get('')?.coefficient ?? 0;
  let factor = Number(b.value);
  if (factor <= 1) return null;
  for (const [key, { coefficient }] of p) {
    if (key !== '') factor = greatestCommonDivisor(factor, Math.abs(coefficient));
  }
  if (factor <= 1 || p.size === 0) return null;
  if (constant % factor !== 0 && !(constant >= 0 && facts.isNonNegative(p))) return null;
  const reduced: Polynomial = new Map(
    [...p].flatMap(([key, term]) => {
      const coefficient = Math.trunc(term.coefficient / factor);
      return coefficient === 0 ? [] : [[key, { ...term, coefficient }]];
    }),
  );
  return e.div(
    toExpr(reduced, (atom) => facts.depth(atom), numberOf),
    Number(b.value) / factor,
  );
}

function divideTwice(expr: Expr): Expr | null {
  const { a, b } = expr as BinaryExpr;
  if (a.kind !== 'binary' || a.op !== 'div') return null;
  if (a.b.kind !== 'const' || b.kind !== 'const') return null;
  const [inner, outer] = [Number(a.b.value), Number(b.value)];
  if (inner <= 0 || outer <= 0 || inner * outer >= 2 ** 31) return null;
  return e.div(a.a, inner * outer);
}

function remainderTwice(expr: Expr): Expr | null {
  const { a, b } = expr as BinaryExpr;
  if (a.kind !== 'binary' || a.op !== 'rem') return null;
  if (a.b.kind !== 'const' || b.kind !== 'const') return null;
  const [inner, outer] = [Number(a.b.value), Number(b.value)];
  return outer > 0 && inner % outer === 0 ? e.rem(a.a, b) : null;
}

function decideComparison(expr: Expr, { facts }: IndexContext): Expr | null {
  const { op, a, b } = expr as BinaryExpr;
  const answer = (truth: boolean): Expr => e.constant('bool', truth ? 1 : 0);
  const difference = addScaled(facts.polynomial(b), facts.polynomial(a), -1, 'integers');
  if (op === 'eq' || op === 'ne') {
    const constant = constantValue(difference);
    if (constant !== null) return answer(((constant | 0) === 0) === (op === 'eq'));
  }
  if (!facts.isExact(a) || !facts.isExact(b)) return null;
  const reversed = addScaled(zeroPolynomial, difference, -1, 'integers');
  switch (op) {
    case 'lt':
    case 'ge':
      if (facts.isPositive(difference)) return answer(op === 'lt');
      return facts.isNonNegative(reversed) ? answer(op === 'ge') : null;
    case 'gt':
    case 'le':
      if (facts.isPositive(reversed)) return answer(op === 'gt');
      return facts.isNonNegative(difference) ? answer(op === 'le') : null;
    default: {
      const apart = facts.isPositive(difference) || facts.isPositive(reversed);
      return apart ? answer(op === 'ne') : null;
    }
  }
}

function decideExtremum(expr: Expr, { facts }: IndexContext): Expr | null {
  const { op, a, b } = expr as BinaryExpr;
  if (!facts.isExact(a) || !facts.isExact(b)) return null;
  const difference = addScaled(facts.polynomial(b), facts.polynomial(a), -1, 'integers');
  if (facts.isNonNegative(difference)) return op === 'min' ? a : b;
  if (facts.isNonNegative(addScaled(zeroPolynomial, difference, -1, 'integers')))
    return op === 'min' ? b : a;
  return null;
}
