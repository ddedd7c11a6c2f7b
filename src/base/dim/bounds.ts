import { maxInterval, minInterval, plus, times } from './interval.js';
import { type Bounds, type Dim, fromAtom } from './expression.js';
import { fold } from './fold.js';
import { addDim, mulDim, subDim } from './polynomial.js';

/** Interval that contains every value of the dimension. */
export function boundsOf(dim: Dim): Bounds {
  let { min, max } = rangeOf(dim);
  if (typeof dim === 'number' || dim.terms.length === 1) return { min, max };
  for (const { coefficient, atoms } of dim.terms) {
    const [atom] = atoms;
    if (atoms.length !== 1 || (atom.kind !== 'min' && atom.kind !== 'max')) continue;
    // Replacing a minimum by either side gives an upper bound, and terms may cancel: a - min(a, b) is not
    // negative.
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

/** Interval that follows from the intervals of the parts, as if those varied independently. */
function rangeOf(dim: Dim): Bounds {
  return fold<Bounds>(dim, {
    constant: (value) => ({ min: value, max: value }),
    symbol: (_name, bounds) => bounds,
    add: plus,
    mul: times,
    operation: (kind, a, b) => {
      if (kind === 'max') return maxInterval(a, b);
      if (kind === 'min') return minInterval(a, b);
      if (b.min <= 0) return { min: -Infinity, max: Infinity };
      if (kind === 'mod') return { min: 0, max: b.max - 1 };
      const ends = [a.min, a.max].flatMap((x) => [b.min, b.max].map((y) => floorQuotient(x, y)));
      return { min: Math.min(...ends), max: Math.max(...ends) };
    },
  });
}

function floorQuotient(a: number, b: number): number {
  return Number.isFinite(a) ? (Number.isFinite(b) ? Math.floor(a / b) : a < 0 ? -1 : 0) : a;
}
