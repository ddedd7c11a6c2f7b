import { maxInterval, hull, type Interval, minInterval, times } from '../../base/dim/interval.js';
import { storageBytes } from '../language/build.js';
import type { Expr, For, Load, Var } from '../language/nodes.js';
import {
  addScaled,
  atomPolynomial,
  constantPolynomial,
  constantValue,
  degree,
  isAtom,
  multiply,
  type NumberOf,
  type Polynomial,
  zeroPolynomial,
} from './polynomial.js';
import { children, visitNew } from '../language/visit.js';

interface Traits {
  readonly depth: number;
  readonly readsMemory: boolean;
}

const least = -(2 ** 31);
const greatest = 2 ** 31 - 1;
const anything: Interval = { min: least, max: greatest };
/** Term limit: larger polynomials are kept as they were written. */
const mostTerms = 24;
/** Factor limit: indices multiply only a few sizes; repeated squares are not indices. */
const mostFactors = 8;

/**
 * Polynomials and intervals of i32 expressions, both ends included. Expressions must be interned, and a
 * variable must be bound in one place only. Facts about an expression hold wherever it is evaluated: an
 * expression that mentions a loop variable is inside that loop.
 */
export class Intervals {
  protected readonly numberOf: NumberOf;
  protected readonly loops: Map<Var, For> = new Map();
  readonly #traits: Map<Expr, Traits> = new Map();
  readonly #ranges: Map<Var, Interval> = new Map();
  readonly #params: ReadonlySet<unknown>;
  readonly #polynomials: Map<Expr, Polynomial> = new Map();
  readonly #intervals: Map<Expr, Interval> = new Map();
  readonly #loopsIn: Map<Expr, ReadonlySet<For>> = new Map();

  constructor(numberOf: NumberOf, params: readonly unknown[]) {
    this.numberOf = numberOf;
    this.#params = new Set(params);
  }

  /** Registers a loop, before anything inside it is queried. Its bounds must be interned. */
  enterLoop(loop: For, depth: number): void {
    this.loops.set(loop.variable, loop);
    this.#traits.set(loop.variable, { depth, readsMemory: false });
  }

  /**
   * Registers a local; `value`, when it is never assigned, bounds it. One that is assigned holds data: it is
   * a sum or the state of a scan, never an index.
   */
  enterLocal(local: Var, depth: number, value: Expr | null): void {
    this.#traits.set(local, { depth, readsMemory: value === null || this.readsMemory(value) });
    if (value !== null && value.type.scalar === 'i32' && value.type.lanes === 1)
      this.#ranges.set(local, this.interval(value));
  }

  /** Depth of the innermost loop in which an expression changes; 0 when it depends on parameters only. */
  depth(expr: Expr): number {
    return this.#traitsOf(expr).depth;
  }

  readsMemory(expr: Expr): boolean {
    return this.#traitsOf(expr).readsMemory;
  }

  #traitsOf(root: Expr): Traits {
    const known = this.#traits.get(root);
    if (known !== undefined) return known;
    visitNew([root], this.#traits, (expr) => {
      const operands = children(expr).map((child) => this.#traits.get(child)!);
      this.#traits.set(expr, {
        depth: operands.reduce((most, { depth }) => Math.max(most, depth), 0),
        readsMemory: expr.kind === 'load' || operands.some(({ readsMemory }) => readsMemory),
      });
    });
    return this.#traits.get(root)!;
  }

  /** A scalar i32 expression as a polynomial, equal modulo 2^32. */
  polynomial(expr: Expr): Polynomial {
    let p = this.#polynomials.get(expr);
    if (p === undefined) {
      p = this.#expand(expr) ?? atomPolynomial(expr, this.numberOf);
      this.#polynomials.set(expr, p);
    }
    return p;
  }

  #expand(expr: Expr): Polynomial | null {
    if (expr.kind === 'const') return constantPolynomial(Number(expr.value));
    if (expr.kind === 'unary' && expr.op === 'neg')
      return addScaled(zeroPolynomial, this.polynomial(expr.x), -1);
    if (expr.kind !== 'binary' || expr.a.type.scalar !== 'i32') return null;
    const { op, a, b } = expr;
    if (op === 'shl' && b.kind === 'const')
      return addScaled(zeroPolynomial, this.polynomial(a), 1 << Number(b.value));
    if (op !== 'add' && op !== 'sub' && op !== 'mul') return null;
    const [p, q] = [this.polynomial(a), this.polynomial(b)];
    if (op === 'mul') {
      if (p.size * q.size > mostTerms || degree(p) + degree(q) > mostFactors) return null;
      // Multiplying out products of data would add multiplications.
      const scaled = constantValue(p) !== null || constantValue(q) !== null;
      if (!scaled && this.readsMemory(expr)) return null;
      return multiply(p, q, this.numberOf);
    }
    if (p.size + q.size > mostTerms) return null;
    return addScaled(p, q, op === 'add' ? 1 : -1);
  }

  /** Interval of a scalar i32 expression. */
  interval(expr: Expr): Interval {
    let interval = this.#intervals.get(expr);
    if (interval === undefined) {
      const p = this.polynomial(expr);
      const whole = isAtom(p, expr);
      interval = whole ? this.#atomInterval(expr) : this.span(p);
      if (!(interval.min >= least && interval.max <= greatest)) interval = anything;
      this.#intervals.set(expr, interval);
    }
    return interval;
  }

  /** Interval of a polynomial, given lower bounds of some of its monomials. */
  protected span(p: Polynomial, known: ReadonlyMap<string, number> = new Map()): Interval {
    let [min, max] = [0, 0];
    for (const [key, { coefficient, atoms }] of p) {
      let span: Interval = { min: 1, max: 1 };
      for (const atom of atoms) span = times(span, this.interval(atom));
      span = { min: Math.max(span.min, known.get(key) ?? -Infinity), max: span.max };
      span = times(span, { min: coefficient, max: coefficient });
      min += span.min;
      max += span.max;
    }
    return { min, max };
  }

  #atomInterval(expr: Expr): Interval {
    switch (expr.kind) {
      case 'var': {
        const loop = this.loops.get(expr);
        if (loop === undefined) return this.#ranges.get(expr) ?? anything;
        const { min } = this.interval(loop.begin);
        return { min, max: Math.max(min, this.interval(loop.end).max - 1) };
      }
      case 'load':
        return loadedInterval(expr);
      case 'cast':
        return expr.x.type.scalar === 'bool' ? { min: 0, max: 1 } : anything;
      case 'select':
        return hull(this.interval(expr.a), this.interval(expr.b));
      case 'binary':
        return this.#binaryInterval(expr.op, expr.a, expr.b);
      default:
        return anything;
    }
  }

  #binaryInterval(op: string, a: Expr, b: Expr): Interval {
    const [x, y] = [this.#promised(a), this.#promised(b)];
    switch (op) {
      case 'min':
        return minInterval(x, y);
      case 'max':
        return maxInterval(x, y);
      case 'div':
        if (y.min < 1) return anything;
        if (y.max !== y.min) return x.min >= 0 ? { min: 0, max: x.max } : anything;
        return { min: Math.trunc(x.min / y.min), max: Math.trunc(x.max / y.min) };
      case 'rem': {
        // For any divisor, the remainder has the dividend's sign and is no larger.
        if (y.min < 1) return { min: Math.min(x.min, 0), max: Math.max(x.max, 0) };
        return {
          min: x.min >= 0 ? 0 : Math.max(x.min, 1 - y.max),
          max: x.max <= 0 ? 0 : Math.min(x.max, y.max - 1),
        };
      }
      case 'and': {
        const masks = [this.interval(a), this.interval(b)].filter(({ min }) => min >= 0);
        if (masks.length === 0) return anything;
        return { min: 0, max: Math.min(...masks.map(({ max }) => max)) };
      }
      case 'shr': {
        if (b.kind !== 'const') return anything;
        const { min, max } = this.interval(a);
        return { min: min >> Number(b.value), max: max >> Number(b.value) };
      }
      case 'shrU': {
        const bits = b.kind === 'const' ? Number(b.value) & 31 : 0;
        return bits === 0 ? anything : { min: 0, max: greatest >>> (bits - 1) };
      }
      default:
        return anything;
    }
  }

  /** `interval` for an operand of a division or comparison, where an index has not overflowed. */
  #promised(expr: Expr): Interval {
    const known = this.interval(expr);
    if (known !== anything) return known;
    const p = this.polynomial(expr);
    if (!this.#isIndex(p)) return known;
    const { min, max } = this.span(p, this.nonEmptyLoops(p));
    return { min: Math.max(min, least), max: Math.min(max, greatest) };
  }

  /**
   * True when the polynomial, computed without wrapping, equals a divided or compared expression: it is an
   * index, for which the author promised that, or it cannot leave the range of i32.
   */
  isExact(expr: Expr): boolean {
    const p = this.polynomial(expr);
    if (this.#isIndex(p)) return true;
    const { min, max } = this.span(p);
    return min >= least && max <= greatest;
  }

  #isIndex(p: Polynomial): boolean {
    for (const { atoms } of p.values()) {
      for (const atom of atoms) if (!this.#isIndexAtom(atom)) return false;
    }
    return true;
  }

  #isIndexAtom(atom: Expr): boolean {
    if (atom.kind === 'var') return this.loops.has(atom) || this.#params.has(atom);
    if (atom.kind !== 'binary' || !['div', 'rem', 'min', 'max'].includes(atom.op)) return false;
    return this.#isIndex(this.polynomial(atom.a)) && this.#isIndex(this.polynomial(atom.b));
  }

  /** Lower bounds of monomials: inside a loop its end is greater than its begin. */
  protected nonEmptyLoops(p: Polynomial): ReadonlyMap<string, number> {
    const known = new Map<string, number>();
    const seen = new Set<For>();
    const enter = (expr: Expr): void => {
      for (const loop of this.#loopsOf(expr)) {
        if (seen.has(loop)) continue;
        seen.add(loop);
        enter(loop.begin);
        enter(loop.end);
        const length = addScaled(
          this.polynomial(loop.end),
          this.polynomial(loop.begin),
          -1,
          'integers',
        );
        const offset = length.get('')?.coefficient ?? 0;
        const terms = [...length].filter(([key]) => key !== '');
        if (terms.length !== 1 || !(terms[0][1].coefficient > 0)) continue;
        const [key, { coefficient }] = terms[0];
        const bound = Math.ceil((1 - offset) / coefficient);
        known.set(key, Math.max(bound, known.get(key) ?? -Infinity));
      }
    };
    for (const { atoms } of p.values()) atoms.forEach(enter);
    return known;
  }

  #loopsOf(expr: Expr): ReadonlySet<For> {
    let found = this.#loopsIn.get(expr);
    if (found === undefined) {
      const loop = this.loops.get(expr as Var);
      found =
        loop === undefined
          ? new Set(children(expr).flatMap((child) => [...this.#loopsOf(child)]))
          : new Set([loop]);
      this.#loopsIn.set(expr, found);
    }
    return found;
  }
}

/** Narrow elements are loaded as i32 but keep their range. */
function loadedInterval({ buffer: { storage } }: Load): Interval {
  if (storage === 'i32') return anything;
  const size = 2 ** (8 * storageBytes(storage));
  return storage === 'i8' ? { min: -size / 2, max: size / 2 - 1 } : { min: 0, max: size - 1 };
}
