export interface BoundedCacheOptions<K, V> {
  /** Upper bound of the sum of all costs. */
  readonly capacity: number;
  /** Cost of an entry, which must not change. Default 1, so that `capacity` is a number of entries. */
  readonly cost?: (key: K, value: V) => number;
  /** Called for each evicted entry, not for those that were deleted or replaced. */
  readonly evicted?: (key: K, value: V) => void;
}

/**
 * A map that holds as much as it may cost. The least recently used entries are evicted,
 * but never the one that was set last, which is in use.
 */
export class BoundedCache<K, V> {
  /** From the least recently used to the most recently used. */
  readonly #entries: Map<K, V> = new Map();
  readonly #capacity: number;
  readonly #costOf: (key: K, value: V) => number;
  readonly #evicted: (key: K, value: V) => void;
  #cost = 0;

  constructor({ capacity, cost = () => 1, evicted = () => {} }: BoundedCacheOptions<K, V>) {
    this.#capacity = capacity;
    this.#costOf = cost;
    this.#evicted = evicted;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value of a key, which becomes the most recently used. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  /** The value of a key, which stays as old as it is: for lookups so frequent that moving entries would show. */
  peek(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** Sets the value of a key, which becomes the most recently used, and evicts what there is too much of. */
  set(key: K, value: V): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#cost += this.#costOf(key, value);
    if (this.#cost <= this.#capacity) return;
    for (const [oldest, old] of this.#entries) {
      if (this.#cost <= this.#capacity || oldest === key) return;
      this.delete(oldest);
      this.#evicted(oldest, old);
    }
  }

  /** The values, from the least recently used to the most recently used. */
  values(): Iterable<V> {
    return this.#entries.values();
  }

  delete(key: K): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#entries.delete(key);
    this.#cost -= this.#costOf(key, value);
  }

  clear(): void {
    this.#entries.clear();
    this.#cost = 0;
  }

  /** Deletes the entries whose values a predicate accepts. */
  deleteWhere(isUnwanted: (value: V) => boolean): void {
    for (const [key, value] of this.#entries) if (isUnwanted(value)) this.delete(key);
  }
}
