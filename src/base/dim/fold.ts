import { GraphError } from '../errors.js';
import type { Bounds, Dim, DimOperation } from './expression.js';

/** Interpretation of dimensions in another domain: numbers, loop expressions, text. */
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

/** Definition of the operations on numbers. */
export const operations: Readonly<Record<DimOperation, (a: number, b: number) => number>> = {
  floorDiv: (a, b) => Math.floor(a / b),
  mod: (a, b) => a - b * Math.floor(a / b),
  max: Math.max,
  min: Math.min,
};

/** The values of symbols, by name. */
export type DimBindings = ReadonlyMap<string, number>;

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
