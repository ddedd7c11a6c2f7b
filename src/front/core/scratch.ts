import type { Storage } from '../../runtime/memory/storage.js';
import type { NDArray } from './ndarray.js';

/**
 * What calls make that nobody but the library sees: the memory is given back when the work is done. The collector
 * would find it too, but it looks for what lies outside of its heap only after tens of megabytes.
 */
export class Scratch {
  readonly #made: Set<Storage> = new Set();

  /** Notes elements that a call has made. */
  note(elements: Storage): void {
    this.#made.add(elements);
  }

  /** Ends the work: what was made is gone, but for the elements of `kept`. */
  release(kept: Iterable<NDArray>): void {
    for (const { elements } of kept) if (elements !== null) this.#made.delete(elements);
    for (const elements of this.#made) elements.release();
    this.#made.clear();
  }
}
