import { i32 } from '../language/build.js';
import * as e from '../language/build.js';
import type { Expr } from '../language/nodes.js';

/**
 * Integer polynomials over i32 expressions. Addition and multiplication of i32 form the ring of integers
 * modulo 2^32, so collecting terms is exact even with wrapping; coefficients are kept in int32.
 */
export interface PolynomialTerm {
  readonly coefficient: number;
  /** The factors, by number; a power repeats its atom. Empty for the constant term. */
  readonly atoms: readonly Expr[];
}

/** By the key of the monomial; the key of the constant term is empty. No coefficient is zero. */
export type Polynomial = ReadonlyMap<string, PolynomialTerm>;

/** Unique numbers of interned expressions. */
export type NumberOf = (atom: Expr) => number;

export const zeroPolynomial: Polynomial = new Map();

export function constantPolynomial(value: number): Polynomial {
  return value === 0 ? zeroPolynomial : new Map([['', { coefficient: value | 0, atoms: [] }]]);
}

export function atomPolynomial(atom: Expr, numberOf: NumberOf): Polynomial {
  return new Map([[String(numberOf(atom)), { coefficient: 1, atoms: [atom] }]]);
}

/** True when the polynomial of an expression is the expression itself. */
export function isAtom(p: Polynomial, atom: Expr): boolean {
  return p.size === 1 && p.values().next().value!.atoms[0] === atom;
}

/** The value, if the polynomial has no atoms. */
export function constantValue(p: Polynomial): number | null {
  if (p.size === 0) return 0;
  const constant = p.get('');
  return p.size === 1 && constant !== undefined ? constant.coefficient : null;
}

/** The greatest number of factors of a term. */
export function degree(p: Polynomial): number {
  let most = 0;
  for (const { atoms } of p.values()) most = Math.max(most, atoms.length);
  return most;
}

/** Coefficients modulo 2^32, as i32 computes; or those of the integers, as proofs about order need them. */
export type Ring = 'modulo' | 'integers';

/** `p + factor * q`. */
export function addScaled(
  p: Polynomial,
  q: Polynomial,
  factor: number,
  ring: Ring = 'modulo',
): Polynomial {
  if (q.size === 0) return p;
  if (p.size === 0 && factor === 1) return q;
  const sum = new Map(p);
  for (const [key, { coefficient, atoms }] of q) {
    const before = sum.get(key)?.coefficient ?? 0;
    const total =
      ring === 'modulo'
        ? (before + Math.imul(coefficient, factor)) | 0
        : before + coefficient * factor;
    if (total === 0) sum.delete(key);
    else sum.set(key, { coefficient: total, atoms });
  }
  return sum;
}

export function multiply(
  p: Polynomial,
  q: Polynomial,
  numberOf: NumberOf,
  ring: Ring = 'modulo',
): Polynomial {
  let product: Polynomial = zeroPolynomial;
  for (const left of p.values()) {
    for (const right of q.values()) {
      const factor =
        ring === 'modulo'
          ? Math.imul(left.coefficient, right.coefficient)
          : left.coefficient * right.coefficient;
      product = addScaled(
        product,
        monomial([...left.atoms, ...right.atoms], numberOf),
        factor,
        ring,
      );
    }
  }
  return product;
}

function monomial(atoms: Expr[], numberOf: NumberOf): Polynomial {
  atoms.sort((a, b) => numberOf(a) - numberOf(b));
  return new Map([[atoms.map(numberOf).join(' '), { coefficient: 1, atoms }]]);
}

/** `a / b` when the monomial `b` divides the monomial `a` with an integer coefficient, else null. */
export function divideTerm(
  a: PolynomialTerm,
  b: PolynomialTerm,
  numberOf: NumberOf,
): Polynomial | null {
  const coefficient = a.coefficient / b.coefficient;
  if (!Number.isInteger(coefficient)) return null;
  const atoms = [...a.atoms];
  for (const atom of b.atoms) {
    const at = atoms.indexOf(atom);
    if (at < 0) return null;
    atoms.splice(at, 1);
  }
  return addScaled(zeroPolynomial, monomial(atoms, numberOf), coefficient);
}

/**
 * The polynomial as an expression: `outermost + ... + innermost + constant`, where `depthOf` is the depth of
 * the innermost loop in which an atom changes. Invariant sums and products thus come first and can be
 * hoisted, and the constant comes last, where memory instructions absorb it.
 */
export function toExpr(p: Polynomial, depthOf: (atom: Expr) => number, numberOf: NumberOf): Expr {
  const constant = p.get('')?.coefficient ?? 0;
  const byDepth = (a: Expr, b: Expr): number =>
    depthOf(a) - depthOf(b) || numberOf(a) - numberOf(b);
  const terms = [...p.values()]
    .filter(({ atoms }) => atoms.length > 0)
    .map(({ coefficient, atoms }) => ({ coefficient, atoms: [...atoms].sort(byDepth) }))
    .sort((a, b) => compareFromDeepest(a.atoms, b.atoms, byDepth));
  if (terms.length === 0) return i32(constant);
  const constantFirst = constant !== 0 && terms[0].coefficient < 0;
  let sum: Expr | null = constantFirst ? i32(constant) : null;
  for (const { coefficient, atoms } of terms) {
    const subtract = coefficient < 0 && coefficient !== -(2 ** 31);
    const product = productExpr(subtract ? -coefficient : coefficient, atoms);
    if (sum === null) sum = subtract ? e.neg(product) : product;
    else sum = subtract ? e.sub(sum, product) : e.add(sum, product);
  }
  if (constant === 0 || constantFirst) return sum!;
  return e.add(sum!, constant);
}

function compareFromDeepest(
  a: readonly Expr[],
  b: readonly Expr[],
  byDepth: (a: Expr, b: Expr) => number,
): number {
  for (let back = 1; back <= a.length && back <= b.length; back++) {
    const order = byDepth(a[a.length - back], b[b.length - back]);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function productExpr(coefficient: number, atoms: readonly Expr[]): Expr {
  const [first, ...rest] = atoms;
  const scaled = coefficient === 1 ? first : e.mul(first, coefficient);
  return rest.reduce((product, atom) => e.mul(product, atom), scaled);
}

/** Euclid's algorithm. */
export function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
