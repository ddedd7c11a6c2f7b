/** An item of a `Recency` list. */
export interface Linked<T> {
  before: T | null;
  after: T | null;
}

/** A list of items by last use (LRU). Using one allocates nothing. */
export class Recency<T extends Linked<T>> {
  #oldest: T | null = null;
  #newest: T | null = null;
  #count = 0;

  get oldest(): T | null {
    return this.#oldest;
  }

  get count(): number {
    return this.#count;
  }

  /** Adds an item that is in no list, as the newest. */
  add(item: T): void {
    item.before = this.#newest;
    item.after = null;
    if (this.#newest === null) this.#oldest = item;
    else this.#newest.after = item;
    this.#newest = item;
    this.#count++;
  }

  /** Removes an item of this list. */
  remove(item: T): void {
    const { before, after } = item;
    if (before === null) this.#oldest = after;
    else before.after = after;
    if (after === null) this.#newest = before;
    else after.before = before;
    item.before = null;
    item.after = null;
    this.#count--;
  }

  /** Makes an item of this list the newest. */
  use(item: T): void {
    if (item === this.#newest) return;
    this.remove(item);
    this.add(item);
  }
}
