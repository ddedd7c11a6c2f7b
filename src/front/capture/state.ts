import { type Enclosed, innermost } from './chain.js';

/** State of arrays that captured code reads and writes. */
export class CapturedState<A extends object> implements Enclosed<CapturedState<A>> {
  readonly parent: CapturedState<A> | null;
  /** State written in the code: the array, and its value after each replay. */
  readonly updates: Map<A, A> = new Map();
  /** The array that each value in `updates`, and each earlier one, belongs to. */
  readonly #owners: Map<A, A> = new Map();
  /** Values of state as read by captured calls, before it was written. */
  readonly reads: Map<A, A> = new Map();

  constructor(parent: CapturedState<A> | null) {
    this.parent = parent;
  }

  /** Current value of an array at this point of the code. */
  current(array: A): A {
    return innermost<CapturedState<A>, A>(this, ({ updates }) => updates.get(array)) ?? array;
  }

  /** The array that another is a value of; otherwise the array itself. The inverse of `current`. */
  ownerOf(array: A): A {
    return innermost<CapturedState<A>, A>(this, (part) => part.#owners.get(array)) ?? array;
  }

  /** Records that `target` now has `value`, a dedicated array. */
  update(target: A, value: A): void {
    this.updates.set(target, value);
    this.#owners.set(value, target);
  }

  /** Notes what has been read and written. @returns A function that goes back to that. */
  moment(): () => void {
    const maps = [this.updates, this.reads].map((map) => [map, [...map]] as const);
    return () => {
      for (const [map, entries] of maps) {
        map.clear();
        for (const [array, value] of entries) map.set(array, value);
      }
    };
  }

  /** Returns the updates so far; later code reads the arrays as written. */
  take(): ReadonlyMap<A, A> {
    const updates = new Map(this.updates);
    this.updates.clear();
    this.reads.clear();
    return updates;
  }
}
