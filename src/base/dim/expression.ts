import { TraceError } from '../errors.js';
import type { Interval } from './interval.js';

/**
 * One extent of a shape: a number, or an integer expression over named, bounded symbols.
 *
 * Expressions are polynomials with integer coefficients in a canonical form, whose atoms are symbols
 * and the four operations a polynomial cannot express. Equal canonical forms have equal keys, so
 * `sameDim` is exact for polynomials and sound (never wrongly "equal") for the rest.
 */
export type Dim = number | DimExpr;

/** The least and the greatest value a dimension may take. */
export type Bounds = Interval;

/** Operations that polynomials cannot express. `floorDiv` and `mod` round towards minus infinity. */
export type DimOperation = 'floorDiv' | 'mod' | 'max' | 'min';

/** A variable of the polynomial: a symbol, or an operation. */
export type Atom =
  | {
      readonly kind: 'symbol';
      readonly key: string;
      readonly name: string;
      readonly bounds: Bounds;
    }
  | {
      readonly kind: DimOperation;
      readonly key: string;
      readonly left: Dim;
      readonly right: Dim;
    };

/** A product of atoms with an integer coefficient. */
export interface DimTerm {
  readonly coefficient: number;
  /** Sorted by key; empty for the constant term. */
  readonly atoms: readonly Atom[];
}

/** A dimension that is not a number. Built only by the functions of `base/dim/`. */
export class DimExpr {
  /** Canonical text, which parses back. */
  readonly key: string;
  /** Sorted, coefficients not zero. */
  readonly terms: readonly DimTerm[];

  constructor(terms: readonly DimTerm[], key: string) {
    this.terms = terms;
    this.key = key;
  }

  /** True for a dimension expression. Unlike `instanceof` it asks a proxy nothing. */
  static isOne(value: unknown): value is DimExpr {
    return typeof value === 'object' && value !== null && #brand in value;
  }

  #brand(): void {}

  toString(): string {
    return this.key;
  }

  /**
   * Refuses conversion to a number, so that a size of captured code is never taken for one.
   * @throws TraceError for arithmetic and comparisons.
   */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === 'string') return this.key;
    throw new TraceError('a size that stays symbolic is needed as a number', {
      op: 'hybridize',
      actual: this.key,
      advice:
        'calculate with operators, kn.mul(n, 2) or shapeOf(x); a name can be left out of dynamic',
    });
  }

  toJSON(): string {
    return this.key;
  }
}

/** True for a number, which is the same in every run. */
export function isStatic(dim: Dim): dim is number {
  return typeof dim === 'number';
}

/** True when two sizes are provably equal, whatever the values of the symbols. */
export function sameDim(a: Dim, b: Dim): boolean {
  return a === b || (typeof a !== 'number' && typeof b !== 'number' && a.key === b.key);
}

/** True when two shapes have the same rank and provably the same sizes. */
export function sameShape(a: readonly Dim[], b: readonly Dim[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let axis = 0; axis < a.length; axis++) if (!sameDim(a[axis], b[axis])) return false;
  return true;
}

/** The terms of a dimension, which is their sum. */
export function termsOf(dim: Dim): readonly DimTerm[] {
  if (typeof dim !== 'number') return dim.terms;
  return dim === 0 ? [] : [{ coefficient: dim, atoms: [] }];
}

/** A symbol or an operation as a dimension. */
export function fromAtom(atom: Atom): DimExpr {
  return new DimExpr([{ coefficient: 1, atoms: [atom] }], atom.key);
}

/** The canonical form of a sum: like terms are merged and sorted by key, the constant last. */
export function fromTerms(terms: readonly DimTerm[]): Dim {
  const merged = new Map<string, DimTerm>();
  for (const term of terms) {
    const key = term.atoms.map((atom) => atom.key).join('*');
    const other = merged.get(key);
    merged.set(
      key,
      other === undefined ? term : { ...term, coefficient: term.coefficient + other.coefficient },
    );
  }
  const kept = [...merged].filter(([, term]) => term.coefficient !== 0);
  if (kept.length === 0) return 0;
  if (kept.length === 1 && kept[0][0] === '') return kept[0][1].coefficient;
  kept.sort(([a], [b]) => (a === '' ? 1 : b === '' ? -1 : a < b ? -1 : 1));
  const text = kept.map(([key, { coefficient }], i) => {
    const size = Math.abs(coefficient);
    const body = key === '' ? String(size) : size === 1 ? key : `${size}*${key}`;
    if (i === 0) return coefficient < 0 ? `-${body}` : body;
    return coefficient < 0 ? ` - ${body}` : ` + ${body}`;
  });
  return new DimExpr(
    kept.map(([, term]) => term),
    text.join(''),
  );
}
