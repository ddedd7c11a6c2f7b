/** For each axis of each array in order: the name of its size, or null for a static one. */
export type AxisNames = readonly (string | null)[];

/** History of the sizes of traced calls: which have changed, and which were always equal. */
export class SizeHistory {
  /** Number of traced calls. */
  readonly calls: number;
  /** Axes of one class had equal sizes in every call. */
  readonly #classes: readonly number[];
  readonly #varies: readonly boolean[];
  readonly #last: readonly number[];

  private constructor(
    calls: number,
    classes: readonly number[],
    varies: readonly boolean[],
    last: readonly number[],
  ) {
    this.calls = calls;
    this.#classes = classes;
    this.#varies = varies;
    this.#last = last;
  }

  static readonly empty: SizeHistory = new SizeHistory(0, [], [], []);

  /** The history with one more call. */
  with(sizes: readonly number[]): SizeHistory {
    const numbers = new Map<string, number>();
    const classes = sizes.map((size, i) => {
      const key = `${this.#classes[i] ?? 0}:${size}`;
      if (!numbers.has(key)) numbers.set(key, numbers.size);
      return numbers.get(key)!;
    });
    const varies = sizes.map(
      (size, i) => this.calls > 0 && (this.#varies[i] || size !== this.#last[i]),
    );
    return new SizeHistory(this.calls + 1, classes, varies, sizes);
  }

  /**
   * Names for the changed sizes, best guess first: one for each class; then equal sizes of this call share a
   * name, since code may depend on it; then sizes of 1 stay numbers, since they may broadcast; then all names
   * but one; then one alone.
   */
  *proposals(): Generator<AxisNames> {
    const all = this.#named((i) => this.#classes[i]);
    yield all;
    yield this.#named((i) => this.#last[i]);
    yield this.#named((i) => (this.#last[i] === 1 ? null : this.#last[i]));
    const names = [...new Set(all)].filter((name) => name !== null);
    for (const name of names) yield all.map((other) => (other === name ? null : other));
    for (const name of names) yield all.map((other) => (other === name ? other : null));
  }

  #named(group: (axis: number) => number | null): AxisNames {
    const names = new Map<number, string>();
    return this.#varies.map((varies, axis) => {
      const key = varies ? group(axis) : null;
      if (key === null) return null;
      if (!names.has(key)) names.set(key, `n${names.size}`);
      return names.get(key)!;
    });
  }
}
