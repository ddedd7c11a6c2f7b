import type { Storage } from '../../runtime/memory/storage.js';
import type { NDArray } from './ndarray.js';

/**
 * Log of the state that some code found: the elements of each array that it read as state or wrote, at the
 * first access. Nested code has a log of its own, which reports to the outer one.
 */
export class StateLog {
  readonly #found: Map<NDArray, Storage> = new Map();
  readonly #outer: StateLog | null;

  constructor(outer: StateLog | null) {
    this.#outer = outer;
  }

  /** Call before the array is written, and when it is read as state. */
  note(array: NDArray): void {
    if (!this.#found.has(array)) this.#found.set(array, array.held);
    this.#outer?.note(array);
  }

  get found(): ReadonlyMap<NDArray, Storage> {
    return this.#found;
  }
}
