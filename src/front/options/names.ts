import type { NDArray } from '../core/ndarray.js';

/** Names given to arrays by their owners, evaluated when a graph needs one. */
const names = new WeakMap<NDArray, () => string>();

/** Sets the name of an array in graphs: that of a parameter is its path. */
export function nameArray(array: NDArray, name: () => string): void {
  names.set(array, name);
}

/** The name that the owner of an array gave it; undefined for none. */
export function nameOfArray(array: NDArray): string | undefined {
  return names.get(array)?.() || undefined;
}
