import type { Storage } from '../../runtime/memory/storage.js';
import type { NDArray } from './ndarray.js';

/**
 * Arrays that only the library sees: their memory is released when the work is done. The collector would find
 * them too, but it starts only after tens of megabytes outside of its heap.
 */
export class Scratch {
  readonly #made: Set<Storage> = new Set();

  /** Records elements that a call has made. */
  note(elements: Storage): void {
    this.#made.add(elements);
  }

  /** Releases all recorded elements except those of `kept`. */
  release(kept: Iterable<NDArray>): void {
    for (const { elements } of kept) if (elements !== null) this.#made.delete(elements);
    for (const elements of this.#made) elements.release();
    this.#made.clear();
  }
}
