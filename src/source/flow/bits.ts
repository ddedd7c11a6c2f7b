/** A set of small numbers. Values: no operation changes its operands. */
export class Bits {
  readonly #words: Uint32Array;

  private constructor(words: Uint32Array) {
    this.#words = words;
  }

  static none(size: number): Bits {
    return new Bits(new Uint32Array((size + 31) >> 5));
  }

  static all(size: number): Bits {
    let bits = Bits.none(size);
    for (let i = 0; i < size; i++) bits = bits.with(i);
    return bits;
  }

  has(bit: number): boolean {
    return (this.#words[bit >> 5] & (1 << (bit & 31))) !== 0;
  }

  with(bit: number): Bits {
    const words = this.#words.slice();
    words[bit >> 5] |= 1 << (bit & 31);
    return new Bits(words);
  }

  without(bit: number): Bits {
    const words = this.#words.slice();
    words[bit >> 5] &= ~(1 << (bit & 31));
    return new Bits(words);
  }

  union(other: Bits): Bits {
    return new Bits(this.#words.map((word, i) => word | other.#words[i]));
  }

  intersection(other: Bits): Bits {
    return new Bits(this.#words.map((word, i) => word & other.#words[i]));
  }

  minus(other: Bits): Bits {
    return new Bits(this.#words.map((word, i) => word & ~other.#words[i]));
  }

  equals(other: Bits): boolean {
    return this.#words.every((word, i) => word === other.#words[i]);
  }

  *members(): IterableIterator<number> {
    for (let bit = 0; bit < this.#words.length * 32; bit++) if (this.has(bit)) yield bit;
  }
}
