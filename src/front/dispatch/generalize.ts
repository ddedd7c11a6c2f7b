import { type Dim, symbol } from '../../base/dim/index.js';
import { KaonError } from '../../base/errors.js';
import { mapAttributeDims } from '../../base/attributes/schema.js';
import type { Program } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { ArrayType } from '../core/array-type.js';
import { attributesKey } from '../../base/attributes/key.js';
import { type Operation, programOf } from '../core/operation.js';

/** A shape pattern that generalizes the shapes of a call. */
export interface General {
  /** Equal for calls that one program can serve. */
  readonly key: string;
  /** The symbolic program; null where the operator needs numbers. */
  program(): Program | null;
}

/**
 * Replaces every size but 1 (which broadcasts, so it is part of the pattern) by a symbol; equal sizes share
 * one. A pattern is exactly the set of calls with the same equalities between sizes, so everything that
 * inference concludes from them holds for each of these calls.
 */
export function generalize(operation: Operation, types: readonly ArrayType[]): General | null {
  const symbols = new Map<number, Dim>();
  const general = types.map((type): TensorType => ({
    dtype: type.dtype,
    shape: type.shape.map((size) => {
      if (size === 1) return 1;
      let dim = symbols.get(size);
      if (dim === undefined) symbols.set(size, (dim = symbol(`n${symbols.size}`)));
      return dim;
    }),
  }));
  if (symbols.size === 0) return null;
  const { declaration } = operation;
  const attributes = mapAttributeDims(declaration.attributes, operation.attributes, (dim) =>
    typeof dim === 'number' ? (symbols.get(dim) ?? dim) : dim,
  );
  const patterns = general.map(({ dtype, shape }) => `${dtype}[${shape.map(String).join()}]`);
  return {
    key: `${patterns.join()}${attributesKey(declaration, attributes)}`,
    program: () => {
      try {
        return programOf({ ...operation, attributes }, general);
      } catch (error) {
        // The static call has passed inference, so a refusal means that this operator needs numbers.
        if (error instanceof KaonError) return null;
        throw error;
      }
    },
  };
}
