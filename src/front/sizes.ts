import { type Dim, symbol } from '../base/dim.js';
import { ArgumentError } from '../base/errors.js';
import type { TensorType } from '../ir/types.js';
import type { NDArray } from './ndarray.js';

/** Types for a trace that is to hold for several sizes. */
export interface SymbolicTypes {
  readonly types: readonly TensorType[];
  /** The sizes of the symbols in the call at hand. */
  readonly sizes: ReadonlyMap<string, number>;
}

/** For each array argument in order, the names of the axes to keep symbolic; null for the others. */
export type DynamicAxes = readonly (readonly (string | null)[] | null)[];

/** The types of arrays as they are. */
export function exactTypes(leaves: readonly NDArray[]): SymbolicTypes {
  return {
    types: leaves.map(({ dtype, shape }) => ({ dtype, shape })),
    sizes: new Map(),
  };
}

/** The types with named axes symbolic, as the user asked. */
export function namedTypes(leaves: readonly NDArray[], axes: DynamicAxes): SymbolicTypes {
  const sizes = new Map<string, number>();
  const types = leaves.map(({ dtype, shape }, i): TensorType => {
    const names = axes[i] ?? [];
    if (names.length > shape.length) {
      throw new ArgumentError(`argument ${i} has fewer axes than names`, {
        op: 'hybridize',
        expected: `at most ${shape.length} names`,
        actual: String(names.length),
      });
    }
    return {
      dtype,
      shape: shape.map((size, axis): Dim => {
        const name = names[axis] ?? null;
        if (name === null) return size;
        const known = sizes.get(name);
        if (known !== undefined && known !== size) {
          throw new ArgumentError(`dimension ${name} has two sizes in one call`, {
            op: 'hybridize',
            expected: String(known),
            actual: `${size} on axis ${axis} of argument ${i}`,
          });
        }
        sizes.set(name, size);
        return symbol(name);
      }),
    };
  });
  return { types, sizes };
}

/**
 * Types for all the calls that were seen: a size that differed between them becomes a symbol, and sizes
 * that were equal to each other in every call share one. `fixed` names symbols that must stay numbers.
 */
export function generalTypes(
  calls: readonly (readonly (readonly number[])[])[],
  leaves: readonly NDArray[],
  fixed: ReadonlySet<string>,
): SymbolicTypes {
  const sizes = new Map<string, number>();
  const names = new Map<string, string>();
  const types = leaves.map(({ dtype, shape }, i): TensorType => ({
    dtype,
    shape: shape.map((size, axis): Dim => {
      const seen = calls.map((call) => call[i][axis]);
      if (seen.every((other) => other === size)) return size;
      const column = seen.join();
      let name = names.get(column);
      if (name === undefined) names.set(column, (name = `n${names.size}`));
      if (fixed.has(name)) return size;
      sizes.set(name, size);
      return symbol(name);
    }),
  }));
  return { types, sizes };
}

/** Whether arrays are a case of types whose extents are numbers and plain symbols. */
export function fitsTypes(leaves: readonly NDArray[], types: readonly TensorType[]): boolean {
  const sizes = new Map<string, number>();
  return leaves.every(({ shape }, i) =>
    shape.every((size, axis) => {
      const dim = types[i].shape[axis];
      if (typeof dim === 'number') return dim === size;
      const known = sizes.get(String(dim));
      if (known === undefined) sizes.set(String(dim), size);
      return known === undefined || known === size;
    }),
  );
}
