import { boundsOf } from './bounds.js';
import { type Atom, type Dim, isStatic, sameDim, termsOf } from './expression.js';
import { maxDim, minDim } from './operations.js';
import { mulDim } from './polynomial.js';

/**
 * The size of an axis along which axes of two sizes broadcast: the one that is not 1. For sizes that do not
 * broadcast the result has no meaning.
 *
 * Written as `max(a, b) * min(1, min(a, b))`, the greater size unless the lesser is 0. The sizes that have met are
 * kept sorted and distinct, so that a size does not change, and no text grows, by meeting the same ones again.
 */
export function broadcastDim(a: Dim, b: Dim): Dim {
  if (a === 1 || sameDim(a, b)) return b;
  if (b === 1) return a;
  for (const size of [a, b]) if (isStatic(size)) return size;
  for (const size of [a, b]) if (boundsOf(size).min > 1) return size;
  const met = new Map([...metIn(a), ...metIn(b)].map((size) => [String(size), size]));
  const sizes = [...met.keys()].sort().map((key) => met.get(key)!);
  return mulDim(sizes.reduce(maxDim), minDim(1, sizes.reduce(minDim)));
}

/** The sizes of which `broadcastDim` has made a size; the size itself where it has another form. */
function metIn(dim: Dim): readonly Dim[] {
  const [term, ...others] = termsOf(dim);
  if (others.length > 0 || term?.coefficient !== 1) return [dim];
  const greatest = term.atoms.find(({ kind }) => kind === 'max');
  if (greatest === undefined) return [dim];
  const sizes = operandsOf(greatest, 'max');
  // The factor of the least is left out where it cannot be 0.
  if (term.atoms.length === 1) return boundsOf(dim).min > 0 ? sizes : [dim];
  const least = term.atoms.find(({ kind }) => kind === 'min');
  if (least === undefined || term.atoms.length > 2) return [dim];
  const wanted = new Set(['1', ...sizes.map(String)]);
  const found = new Set(operandsOf(least, 'min').map(String));
  return wanted.size === found.size && [...wanted].every((key) => found.has(key)) ? sizes : [dim];
}

/** The operands of nested maxima or minima. */
function operandsOf(atom: Atom, kind: 'max' | 'min'): readonly Dim[] {
  if (atom.kind !== kind) return [];
  return [atom.left, atom.right].flatMap((side) => {
    const [term, ...others] = termsOf(side);
    const isNested =
      others.length === 0 &&
      term?.coefficient === 1 &&
      term.atoms.length === 1 &&
      term.atoms[0].kind === kind;
    return isNested ? operandsOf(term.atoms[0], kind) : [side];
  });
}
