/** Numbers from a seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Choices of a writer of random programs, and names that stand once. Equal seeds make equal choices. */
export class RandomChoices {
  readonly #random: () => number;
  #names = 0;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
  }

  protected below(n: number): number {
    return Math.floor(this.#random() * n);
  }

  protected pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }

  protected chance(p: number): boolean {
    return this.#random() < p;
  }

  protected name(prefix: string): string {
    return `${prefix}${this.#names++}`;
  }
}
