import type { NDArray } from '../core/ndarray.js';

/** What owners call their arrays, asked for when a graph needs a name. */
const names = new WeakMap<NDArray, () => string>();

/** Says under what name an array enters graphs, as a parameter under its path. */
export function nameArray(array: NDArray, name: () => string): void {
  names.set(array, name);
}

/** The name that the owner of an array gave it; undefined when there is none. */
export function nameOfArray(array: NDArray): string | undefined {
  return names.get(array)?.() || undefined;
}
