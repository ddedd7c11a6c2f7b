import { type Atom, type Dim, fromTerms, sameDim, type DimTerm, termsOf } from './expression.js';

export function addDim(a: Dim, b: Dim): Dim {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  return fromTerms([...termsOf(a), ...termsOf(b)]);
}

export function subDim(a: Dim, b: Dim): Dim {
  return sameDim(a, b) ? 0 : addDim(a, mulDim(b, -1));
}

export function mulDim(a: Dim, b: Dim): Dim {
  if (typeof a === 'number' && typeof b === 'number') return a * b + 0; // no -0
  const product: DimTerm[] = [];
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

/** The number of elements of a shape. */
export function elementCount(shape: readonly Dim[]): Dim {
  return shape.reduce<Dim>(mulDim, 1);
}

/** `a / b` when `b` is a single term that divides every term of `a`. */
export function exactQuotient(a: Dim, b: Dim): Dim | undefined {
  if (sameDim(a, b)) return 1;
  const divisor = termsOf(b);
  if (divisor.length !== 1) return undefined;
  const quotient: DimTerm[] = [];
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

function byKey(a: Atom, b: Atom): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}
