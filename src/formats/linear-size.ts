import { type Dim, DimExpr } from '../base/dim/index.js';

/** The dimension `coefficient * symbol + offset`. */
export interface LinearSize {
  readonly name: string;
  readonly coefficient: number;
  readonly offset: number;
}

/** A dimension as a multiple of one symbol plus an offset; null when it has another form. */
export function linearSize(dim: Dim): LinearSize | null {
  if (!(dim instanceof DimExpr)) return null;
  const [first, second] = dim.terms;
  if (dim.terms.length > 2 || first.atoms.length !== 1) return null;
  const [atom] = first.atoms;
  if (atom.kind !== 'symbol' || (second !== undefined && second.atoms.length > 0)) return null;
  return {
    name: atom.name,
    coefficient: first.coefficient,
    offset: second?.coefficient ?? 0,
  };
}
