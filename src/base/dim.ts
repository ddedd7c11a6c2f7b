import { ArgumentError, GraphError } from './errors.js';

/**
 * One extent of a shape: a number, or an integer expression over named, bounded symbols.
 *
 * Expressions are polynomials with integer coefficients in a canonical form, whose atoms are symbols
 * and the four operations a polynomial cannot express. Equal canonical forms have equal keys, so
 * `sameDim` is exact for polynomials and sound (never wrongly "equal") for the rest.
 */
export type Dim = number | DimExpr;

/** The values of symbols, by name. */
export type DimBindings = ReadonlyMap<string, number>;

/** The least and the greatest value a dimension may take. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

export type DimOperation = 'floorDiv' | 'mod' | 'max' | 'min';

type Atom =
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

interface Term {
  readonly coefficient: number;
  /** Sorted by key; empty for the constant term. */
  readonly atoms: readonly Atom[];
}

/** A dimension that is not a number. Built only by the functions of this file. */
export class DimExpr {
  /** Canonical text, which parses back. */
  readonly key: string;
  /** Sorted, coefficients not zero. */
  readonly terms: readonly Term[];

  constructor(terms: readonly Term[], key: string) {
    this.terms = terms;
    this.key = key;
  }

  toString(): string {
    return this.key;
  }

  toJSON(): string {
    return this.key;
  }
}

const defaultBounds: Bounds = { min: 0, max: Infinity };

/** A named dimension. The same name in one program means the same size. */
export function symbol(name: string, bounds: Partial<Bounds> = {}): DimExpr {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || Object.hasOwn(operations, name)) {
    throw new ArgumentError('not a name for a dimension', {
      op: 'symbol',
      expected: 'a letter or underscore, then letters, digits or underscores',
      actual: JSON.stringify(name),
    });
  }
  const { min, max } = { ...defaultBounds, ...bounds };
  if (!(min >= 0 && max >= min)) {
    throw new ArgumentError(`the bounds of dimension ${name} are not a range of sizes`, {
      op: 'symbol',
      expected: '0 <= min <= max',
      actual: `min ${min}, max ${max}`,
    });
  }
  return fromAtom({ kind: 'symbol', key: name, name, bounds: { min, max } });
}

export function isStatic(dim: Dim): dim is number {
  return typeof dim === 'number';
}

export function sameDim(a: Dim, b: Dim): boolean {
  return a === b || (typeof a !== 'number' && typeof b !== 'number' && a.key === b.key);
}

export function addDim(a: Dim, b: Dim): Dim {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  return fromTerms([...termsOf(a), ...termsOf(b)]);
}

export function subDim(a: Dim, b: Dim): Dim {
  return sameDim(a, b) ? 0 : addDim(a, mulDim(b, -1));
}

export function mulDim(a: Dim, b: Dim): Dim {
  if (typeof a === 'number' && typeof b === 'number') return a * b + 0; // no -0
  const product: Term[] = [];
  for (const left of termsOf(a)) {
    for (const right of termsOf(b)) {
      product.push({
        coefficient: left.coefficient * right.coefficient,
        atoms: [...left.atoms, ...right.atoms].sort(byKey),
      });
    }
  }
  return fromTerms(product);
}

/** Floor division; `b` must not be zero. Exact quotients of polynomials are found. */
export function floorDivDim(a: Dim, b: Dim): Dim {
  if (b === 0) throw dividedByZero('floorDivDim', a);
  if (b === 1) return a;
  if (typeof a === 'number' && typeof b === 'number') return Math.floor(a / b) + 0;
  return (
    exactQuotient(a, b) ?? exactQuotient(withMultiples(a, b), b) ?? operation('floorDiv', a, b)
  );
}

/** `x - mod(x, b)` is a multiple of `b`, which only shows where the remainder is `x - b * floorDiv(x, b)`. */
function withMultiples(a: Dim, b: Dim): Dim {
  let shown = a;
  for (const { coefficient, atoms } of termsOf(a)) {
    const [atom] = atoms;
    if (atoms.length !== 1 || atom.kind !== 'mod' || !sameDim(atom.right, b)) continue;
    const remainder = subDim(atom.left, mulDim(b, floorDivDim(atom.left, b)));
    shown = addDim(shown, mulDim(coefficient, subDim(remainder, fromAtom(atom))));
  }
  return shown;
}

function dividedByZero(op: string, dim: Dim): GraphError {
  return new GraphError(`dimension ${String(dim)} is divided by zero`, { op });
}

/** The remainder that goes with `floorDivDim`. */
export function modDim(a: Dim, b: Dim): Dim {
  if (b === 0) throw dividedByZero('modDim', a);
  if (b === 1) return 0;
  if (typeof a === 'number' && typeof b === 'number') return a - b * Math.floor(a / b);
  return exactQuotient(a, b) === undefined ? operation('mod', a, b) : 0;
}

export function ceilDivDim(a: Dim, b: Dim): Dim {
  return floorDivDim(subDim(addDim(a, b), 1), b);
}

export function maxDim(a: Dim, b: Dim): Dim {
  const [x, y] = ordered(a, b);
  const difference = boundsOf(subDim(x, y));
  if (difference.max <= 0) return y;
  if (difference.min >= 0) return x;
  return operation('max', x, y);
}

export function minDim(a: Dim, b: Dim): Dim {
  const [x, y] = ordered(a, b);
  const difference = boundsOf(subDim(x, y));
  if (difference.min >= 0) return y;
  if (difference.max <= 0) return x;
  return operation('min', x, y);
}

/** One of the operations that polynomials lack, applied. */
export function applyDim(kind: DimOperation, a: Dim, b: Dim): Dim {
  return builders[kind](a, b);
}

/** The number of elements of a shape. */
export function sizeOf(shape: readonly Dim[]): Dim {
  return shape.reduce<Dim>(mulDim, 1);
}

export function sameShape(a: readonly Dim[], b: readonly Dim[]): boolean {
  return a.length === b.length && a.every((dim, axis) => sameDim(dim, b[axis]));
}

/** The names a dimension depends on, added to `names`. */
export function symbolsOf(dim: Dim, names: Set<string> = new Set()): Set<string> {
  for (const name of symbolTable(dim).keys()) names.add(name);
  return names;
}

/** The symbols a dimension depends on with their ranges, added to `table`. */
export function symbolTable(dim: Dim, table: Map<string, Bounds> = new Map()): Map<string, Bounds> {
  for (const term of termsOf(dim)) {
    for (const atom of term.atoms) {
      if (atom.kind === 'symbol') table.set(atom.name, atom.bounds);
      else {
        symbolTable(atom.left, table);
        symbolTable(atom.right, table);
      }
    }
  }
  return table;
}

/** The value of a dimension once its symbols are bound; an unbound one is a `GraphError`. */
export function evaluateDim(dim: Dim, bindings: DimBindings): number {
  if (typeof dim === 'number') return dim;
  return fold(dim, {
    constant: (value) => value,
    symbol: (name) => {
      const value = bindings.get(name);
      if (value === undefined)
        throw new GraphError(`the size of dimension ${name} is not known yet`, {
          op: 'evaluateDim',
        });
      return value;
    },
    add: (a, b) => a + b,
    mul: (a, b) => a * b,
    operation: (kind, a, b) => operations[kind](a, b),
  });
}

/** Replaces symbols by other dimensions; names without an entry stay. */
export function substituteDim(dim: Dim, replacements: ReadonlyMap<string, Dim>): Dim {
  if (typeof dim === 'number') return dim;
  return fold<Dim>(dim, {
    constant: (value) => value,
    symbol: (name, bounds) => replacements.get(name) ?? symbol(name, bounds),
    add: addDim,
    mul: mulDim,
    operation: (kind, a, b) => builders[kind](a, b),
  });
}

/** How to rebuild a dimension in another world: numbers, loop expressions, text. */
export interface DimAlgebra<T> {
  constant(value: number): T;
  symbol(name: string, bounds: Bounds): T;
  add(a: T, b: T): T;
  mul(a: T, b: T): T;
  operation(kind: DimOperation, a: T, b: T): T;
}

/** Evaluates a dimension in an algebra, from the leaves up. */
export function fold<T>(dim: Dim, algebra: DimAlgebra<T>): T {
  if (typeof dim === 'number') return algebra.constant(dim);
  let sum: T | undefined;
  for (const { coefficient, atoms } of dim.terms) {
    let product = coefficient === 1 && atoms.length > 0 ? undefined : algebra.constant(coefficient);
    for (const atom of atoms) {
      const value =
        atom.kind === 'symbol'
          ? algebra.symbol(atom.name, atom.bounds)
          : algebra.operation(atom.kind, fold(atom.left, algebra), fold(atom.right, algebra));
      product = product === undefined ? value : algebra.mul(product, value);
    }
    sum = sum === undefined ? product! : algebra.add(sum, product!);
  }
  return sum!;
}

/** A range that certainly holds every value of the dimension. */
export function boundsOf(dim: Dim): Bounds {
  let { min, max } = rangeOf(dim);
  if (typeof dim === 'number' || dim.terms.length === 1) return { min, max };
  for (const { coefficient, atoms } of dim.terms) {
    const [atom] = atoms;
    if (atoms.length !== 1 || (atom.kind !== 'min' && atom.kind !== 'max')) continue;
    // A minimum is at most either side. Put in its place, a side may cancel: a - min(a, b) is not negative.
    const isAtMost = (atom.kind === 'min') === coefficient > 0;
    for (const side of [atom.left, atom.right]) {
      const exchanged = addDim(dim, mulDim(coefficient, subDim(side, fromAtom(atom))));
      const bound = rangeOf(exchanged);
      if (isAtMost) max = Math.min(max, bound.max);
      else min = Math.max(min, bound.min);
    }
  }
  return { min, max };
}

/** The range that the ranges of its parts allow, as if those varied independently. */
function rangeOf(dim: Dim): Bounds {
  return fold<Bounds>(dim, {
    constant: (value) => ({ min: value, max: value }),
    symbol: (_name, bounds) => bounds,
    add: (a, b) => ({ min: a.min + b.min, max: a.max + b.max }),
    mul: (a, b) =>
      hull([times(a.min, b.min), times(a.min, b.max), times(a.max, b.min), times(a.max, b.max)]),
    operation: (kind, a, b) => {
      if (kind === 'max') return { min: Math.max(a.min, b.min), max: Math.max(a.max, b.max) };
      if (kind === 'min') return { min: Math.min(a.min, b.min), max: Math.min(a.max, b.max) };
      if (b.min <= 0) return { min: -Infinity, max: Infinity };
      if (kind === 'mod') return { min: 0, max: b.max - 1 };
      return hull([a.min, a.max].flatMap((x) => [b.min, b.max].map((y) => floorQuotient(x, y))));
    },
  });
}

/** Deeper nesting in the text of a dimension is refused rather than risk the stack. */
const deepest = 100;

/** Reads what `String(dim)` wrote. `bounds` gives the ranges of names; others are unbounded. */
export function parseDim(text: string, bounds: ReadonlyMap<string, Bounds> = new Map()): Dim {
  const tokens = text.match(/[A-Za-z_][A-Za-z0-9_]*|\d+|[-+*(),]|\S/g) ?? [];
  let at = 0;
  const fail = (): never => {
    throw new GraphError('not a dimension', { actual: JSON.stringify(text.slice(0, 200)) });
  };
  const expect = (token: string): void => {
    if (tokens[at++] !== token) fail();
  };
  let depth = 0;
  const atom = (): Dim => {
    if (++depth > deepest) return fail();
    const value = atomInside();
    depth--;
    return value;
  };
  const atomInside = (): Dim => {
    const token = tokens[at++];
    if (token === undefined) return fail();
    if (token === '-') return mulDim(-1, atom());
    if (/^\d/.test(token)) return Number.isSafeInteger(Number(token)) ? Number(token) : fail();
    if (!/^[A-Za-z_]/.test(token)) return fail();
    if (!Object.hasOwn(operations, token)) return symbol(token, bounds.get(token));
    expect('(');
    const left = sum();
    expect(',');
    const right = sum();
    expect(')');
    return builders[token as DimOperation](left, right);
  };
  const product = (): Dim => {
    let value = atom();
    while (tokens[at] === '*') {
      at++;
      value = mulDim(value, atom());
    }
    return value;
  };
  const sum = (): Dim => {
    let value = product();
    while (tokens[at] === '+' || tokens[at] === '-') {
      value = tokens[at++] === '+' ? addDim(value, product()) : subDim(value, product());
    }
    return value;
  };
  const dim = sum();
  return at === tokens.length ? dim : fail();
}

const operations: Readonly<Record<DimOperation, (a: number, b: number) => number>> = {
  floorDiv: (a, b) => Math.floor(a / b),
  mod: (a, b) => a - b * Math.floor(a / b),
  max: Math.max,
  min: Math.min,
};

const builders: Readonly<Record<DimOperation, (a: Dim, b: Dim) => Dim>> = {
  floorDiv: floorDivDim,
  mod: modDim,
  max: maxDim,
  min: minDim,
};

function termsOf(dim: Dim): readonly Term[] {
  if (typeof dim !== 'number') return dim.terms;
  return dim === 0 ? [] : [{ coefficient: dim, atoms: [] }];
}

function operation(kind: DimOperation, left: Dim, right: Dim): Dim {
  const key = `${kind}(${String(left)}, ${String(right)})`;
  const dim = fromAtom({ kind, key, left, right });
  const { min, max } = boundsOf(dim);
  return min === max ? min : dim;
}

function fromAtom(atom: Atom): DimExpr {
  return new DimExpr([{ coefficient: 1, atoms: [atom] }], atom.key);
}

function fromTerms(terms: readonly Term[]): Dim {
  const merged = new Map<string, Term>();
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
  kept.sort(([a], [b]) => (a === '' ? 1 : b === '' ? -1 : a < b ? -1 : 1)); // the constant comes last
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

/** `a / b` when `b` is a single term that divides every term of `a`. */
function exactQuotient(a: Dim, b: Dim): Dim | undefined {
  if (sameDim(a, b)) return 1;
  const divisor = termsOf(b);
  if (divisor.length !== 1) return undefined;
  const quotient: Term[] = [];
  for (const term of termsOf(a)) {
    const coefficient = term.coefficient / divisor[0].coefficient;
    if (!Number.isInteger(coefficient)) return undefined;
    const atoms = [...term.atoms];
    for (const atom of divisor[0].atoms) {
      const at = atoms.findIndex((candidate) => candidate.key === atom.key);
      if (at < 0) return undefined;
      atoms.splice(at, 1);
    }
    quotient.push({ coefficient, atoms });
  }
  return fromTerms(quotient);
}

function ordered(a: Dim, b: Dim): [Dim, Dim] {
  return String(a) <= String(b) ? [a, b] : [b, a];
}

function byKey(a: Atom, b: Atom): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

function times(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : a * b;
}

function floorQuotient(a: number, b: number): number {
  return Number.isFinite(a) ? (Number.isFinite(b) ? Math.floor(a / b) : a < 0 ? -1 : 0) : a;
}

function hull(values: readonly number[]): Bounds {
  return { min: Math.min(...values), max: Math.max(...values) };
}
