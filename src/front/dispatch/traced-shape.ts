import type { Dim } from '../../base/dim/index.js';
import { dimensions } from '../../ops/signatures.js';
import { mode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';

/**
 * A shape in traced code: numbers whose reads are recorded. The trace is specialized to the axes that are
 * read, so reading one axis leaves the others free; the rank is always free, as is a shape that is passed to
 * an operator as a whole.
 *
 * @param known The extents for debuggers, whose reads are not recorded.
 * @param read The value of a symbolic extent; throws where there is none.
 */
export function tracedShape(
  dims: readonly Dim[],
  known: readonly number[],
  read: (dim: Dim) => number,
): readonly number[] {
  return new Proxy(Object.freeze([...known]), {
    get(target, key) {
      if (key === dimensions) return dims;
      if (typeof key === 'string' && key !== 'length' && Object.hasOwn(target, key)) {
        return read(dims[Number(key)]);
      }
      return Reflect.get(target, key) as unknown;
    },
  });
}

/** The extents of an array for creating others: in captured code symbols stay symbols, and nothing is read. */
export function extentsOf(array: NDArray): readonly Dim[] {
  return mode.capture === null ? array.shape : array.type.shape;
}
