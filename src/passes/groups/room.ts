import { addDim, type Dim, type DimExpr, floorDivDim, maxDim, minDim, mulDim, symbol } from '../../base/dim/index.js'; // prettier-ignore

type Atom = DimExpr['terms'][number]['atoms'][number];

/** Bounds of a size, in sizes that are known earlier; `high` is null where there is none. */
interface Range {
  readonly low: Dim;
  readonly high: Dim | null;
}

/** The symbols whose sizes are not known yet. */
export interface UnknownSymbols {
  has(symbol: string): boolean;
  /** Symbolic upper bound of one of them; null or undefined for its static bounds. */
  most?(symbol: string): Dim | null;
}

/**
 * Upper bound of a dimension, in symbols that are not `own`: memory to reserve for a size that only a run
 * decides. Null where there is none.
 */
export function symbolicUpperBound(dim: Dim, own: UnknownSymbols): Dim | null {
  return rangeOf(dim, own).high;
}

function rangeOf(dim: Dim, own: UnknownSymbols): Range {
  if (typeof dim === 'number') return { low: dim, high: dim };
  let low: Dim = 0;
  let high: Dim | null = 0;
  for (const { coefficient, atoms } of dim.terms) {
    const product = productOf(atoms.map((atom) => rangeOfAtom(atom, own)));
    const [least, most] =
      coefficient < 0 ? [product.high, product.low] : [product.low, product.high];
    // If a subtracted size is unbounded, the sum is still not negative.
    low = least === null ? 0 : addDim(low, mulDim(coefficient, least));
    high = high === null || most === null ? null : addDim(high, mulDim(coefficient, most));
  }
  return { low, high };
}

/** Bounds of a product of sizes, none of which is negative. */
function productOf(factors: readonly Range[]): Range {
  return factors.reduce<Range>(
    (a, b) => ({
      low: mulDim(a.low, b.low),
      high: a.high === null || b.high === null ? null : mulDim(a.high, b.high),
    }),
    { low: 1, high: 1 },
  );
}

function rangeOfAtom(atom: Atom, own: UnknownSymbols): Range {
  if (atom.kind === 'symbol') {
    const { min, max } = atom.bounds;
    if (own.has(atom.name)) {
      return { low: min, high: own.most?.(atom.name) ?? (max === Infinity ? null : max) };
    }
    const known = symbol(atom.name, atom.bounds);
    return { low: known, high: known };
  }
  const [a, b] = [rangeOf(atom.left, own), rangeOf(atom.right, own)];
  switch (atom.kind) {
    case 'min':
      return { low: minDim(a.low, b.low), high: lesser(a.high, b.high) };
    case 'max':
      return {
        low: maxDim(a.low, b.low),
        high: a.high === null || b.high === null ? null : maxDim(a.high, b.high),
      };
    case 'floorDiv': {
      const isKnown = a.high !== null && typeof b.low === 'number' && b.low > 0;
      return { low: 0, high: isKnown ? floorDivDim(a.high!, b.low) : a.high };
    }
    case 'mod':
      return { low: 0, high: b.high };
  }
}

function lesser(a: Dim | null, b: Dim | null): Dim | null {
  return a === null ? b : b === null ? a : minDim(a, b);
}
