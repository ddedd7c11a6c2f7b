import { type Dim, substituteDim, symbol } from '../../base/dim/index.js';
import { ArgumentError } from '../../base/errors.js';
import type { TensorType } from '../../ir/types.js';
import type { NDArray } from '../core/ndarray.js';
import type { AxisNames } from '../sizes/size-history.js';

/** Types for a trace that serves several sizes. */
export interface SymbolicTypes {
  readonly types: readonly TensorType[];
  /** Values of the symbols in the current call. */
  readonly sizes: ReadonlyMap<string, number>;
}

/** The exact types of arrays. */
export function exactTypes(leaves: readonly NDArray[]): SymbolicTypes {
  return {
    types: leaves.map(({ dtype, shape }) => ({ dtype, shape })),
    sizes: new Map(),
  };
}

/** The types with symbols for the named axes. */
export function symbolicTypes(leaves: readonly NDArray[], names: AxisNames): SymbolicTypes {
  const sizes = new Map<string, number>();
  let next = 0;
  const types = leaves.map(({ dtype, shape }, i): TensorType => ({
    dtype,
    shape: shape.map((size, axis): Dim => {
      const name = names[next++];
      if (name === null) return size;
      const known = sizes.get(name);
      if (known !== undefined && known !== size) {
        throw new ArgumentError(`dimension ${name} has two sizes in one call`, {
          op: 'hybridize',
          expected: String(known),
          actual: `${size} on axis ${axis} of array ${i}`,
        });
      }
      sizes.set(name, size);
      return symbol(name);
    }),
  }));
  return { types, sizes };
}

/** The sizes of all arrays in order, parallel to `AxisNames`. */
export function flatSizes(leaves: readonly NDArray[]): readonly number[] {
  return leaves.flatMap(({ shape }) => shape);
}

/**
 * The values of the symbols when arrays match types whose extents are numbers and plain symbols; null when
 * they do not.
 */
export function bindSizes(
  leaves: readonly NDArray[],
  types: readonly TensorType[],
): ReadonlyMap<string, number> | null {
  const sizes = new Map<string, number>();
  const fits = leaves.every(({ shape }, i) =>
    shape.every((size, axis) => {
      const dim = types[i].shape[axis];
      if (typeof dim === 'number') return dim === size;
      const known = sizes.get(String(dim));
      if (known === undefined) sizes.set(String(dim), size);
      return known === undefined || known === size;
    }),
  );
  return fits ? sizes : null;
}

/** A dimension with known symbols replaced by numbers. */
export function dimWithSizes(dim: Dim, sizes: ReadonlyMap<string, number>): Dim {
  return typeof dim === 'number' || sizes.size === 0 ? dim : substituteDim(dim, sizes);
}
