import { InternalError } from '../base/errors.js';

/** Side table of nodes or edges: one entry for every id below `length`, keyed by the id's type. */
export class Table<I extends number, T> {
  readonly #entries: T[];

  constructor(length: number, initial: T) {
    this.#entries = Array.from<T>({ length }).fill(initial);
  }

  get length(): number {
    return this.#entries.length;
  }

  get(id: I): T {
    this.#check(id);
    return this.#entries[id];
  }

  set(id: I, entry: T): void {
    this.#check(id);
    this.#entries[id] = entry;
  }

  #check(id: I): void {
    if (!(id >= 0 && id < this.#entries.length)) {
      throw new InternalError(`no entry ${id} in a table of ${this.#entries.length}`);
    }
  }
}
