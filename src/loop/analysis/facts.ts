import { Intervals } from './intervals.js';
import type { Expr, For, Var } from '../language/nodes.js';
import {
  addScaled,
  constantPolynomial,
  constantValue,
  multiply,
  type Polynomial,
  zeroPolynomial,
} from './polynomial.js';

/** `p + factor * q` over the integers. */
const sum = (p: Polynomial, q: Polynomial, factor: number): Polynomial =>
  addScaled(p, q, factor, 'integers');

/** Step limit of one proof. */
const maxSteps = 64;

/** Inequalities of i32 expressions that follow from the bounds of loop variables. */
export class Facts extends Intervals {
  /** True if `p >= 0` follows, over the integers, from known facts. False decides nothing. */
  isNonNegative(p: Polynomial): boolean {
    const known = this.nonEmptyLoops(p);
    let left = maxSteps;
    const prove = (q: Polynomial): boolean => {
      if (this.span(q, known).min >= 0) return true;
      if (constantValue(q) !== null || left-- <= 0) return false;
      const split = this.#splitDeepest(q);
      if (split === null) return false;
      const { atom, factor, rest } = split;
      const sign = prove(factor) ? 1 : prove(sum(zeroPolynomial, factor, -1)) ? -1 : 0;
      if (sign === 0) return false;
      return this.#bounds(atom, factor, sign, prove, known).some((all) =>
        all.every((bound) => prove(sum(rest, bound, 1))),
      );
    };
    return prove(p);
  }

  isPositive(p: Polynomial): boolean {
    return this.isNonNegative(sum(p, constantPolynomial(1), -1));
  }

  /** Writes `p` as `factor * atom + rest` with the deepest atom that has known facts. */
  #splitDeepest(p: Polynomial): { atom: Expr; factor: Polynomial; rest: Polynomial } | null {
    let atom: Expr | null = null;
    for (const { atoms } of p.values()) {
      for (const candidate of atoms) {
        if (!this.loops.has(candidate as Var) && candidate.kind !== 'binary') continue;
        if (atom === null || this.#isDeeper(candidate, atom)) atom = candidate;
      }
    }
    if (atom === null) return null;
    let [factor, rest] = [zeroPolynomial, zeroPolynomial];
    for (const term of p.values()) {
      const at = term.atoms.indexOf(atom);
      const others = at < 0 ? term.atoms : term.atoms.filter((_, i) => i !== at);
      if (others.includes(atom)) return null;
      const part: Polynomial = new Map([
        [others.map(this.numberOf).join(' '), { coefficient: term.coefficient, atoms: others }],
      ]);
      if (at < 0) rest = sum(rest, part, 1);
      else factor = sum(factor, part, 1);
    }
    return { atom, factor, rest };
  }

  #isDeeper(a: Expr, b: Expr): boolean {
    return this.depth(a) - this.depth(b) > 0 || (this.depth(a) === this.depth(b) && this.numberOf(a) > this.numberOf(b)); // prettier-ignore
  }

  /**
   * Lower bounds of `factor * atom`, given the sign of the factor. Each alternative is one bound, or several
   * of which the least counts.
   */
  #bounds(
    atom: Expr,
    factor: Polynomial,
    sign: 1 | -1,
    prove: (p: Polynomial) => boolean,
    known: ReadonlyMap<string, number>,
  ): Polynomial[][] {
    const times = (value: Polynomial): Polynomial =>
      multiply(factor, value, this.numberOf, 'integers');
    const loop = this.loops.get(atom as Var);
    if (loop !== undefined)
      return [[times(sign > 0 ? this.polynomial(loop.begin) : this.#lastOf(loop))]];
    if (atom.kind !== 'binary') return [];
    const [a, b] = [this.polynomial(atom.a), this.polynomial(atom.b)];
    if (atom.op === 'min' || atom.op === 'max') {
      const either = (atom.op === 'max') === sign > 0;
      return either ? [[times(a)], [times(b)]] : [[times(a), times(b)]];
    }
    if (atom.op !== 'div' && atom.op !== 'rem') return [];
    const divisor = constantValue(b);
    // A quotient of at least 1 by a positive constant has a positive dividend.
    const positive =
      atom.op === 'div' &&
      divisor !== null &&
      divisor > 0 &&
      (known.get(String(this.numberOf(atom))) ?? 0) >= 1;
    if (!positive && !this.#dividesCleanly(atom.a, atom.b, prove)) return [];
    if (atom.op === 'rem')
      return sign > 0
        ? [[zeroPolynomial]]
        : [[times(sum(b, constantPolynomial(1), -1))], [times(a)]];
    const ways = [[times(sign > 0 ? zeroPolynomial : a)]];
    if (divisor !== null && [...factor.values()].every((t) => t.coefficient % divisor === 0)) {
      // a - divisor + 1 <= divisor * atom <= a
      const scaled: Polynomial = new Map(
        [...factor].map(([key, t]) => [key, { ...t, coefficient: t.coefficient / divisor }]),
      );
      const bound = sign > 0 ? sum(a, constantPolynomial(divisor - 1), -1) : a;
      ways.unshift([multiply(scaled, bound, this.numberOf, 'integers')]);
    }
    return ways;
  }

  /** An upper bound of a loop variable, exact where the step divides the loop's length. */
  #lastOf(loop: For): Polynomial {
    const [begin, end] = [this.polynomial(loop.begin), this.polynomial(loop.end)];
    const whole = [...sum(end, begin, -1).values()].every(
      ({ coefficient }) => coefficient % loop.step === 0,
    );
    return sum(end, constantPolynomial(whole ? loop.step : 1), -1);
  }

  /** True when `0 <= a` and `1 <= b`, so that truncation equals floor. */
  #dividesCleanly(a: Expr, b: Expr, prove: (p: Polynomial) => boolean): boolean {
    return (
      this.isExact(a) &&
      this.isExact(b) &&
      prove(sum(this.polynomial(b), constantPolynomial(1), -1)) &&
      prove(this.polynomial(a))
    );
  }
}
