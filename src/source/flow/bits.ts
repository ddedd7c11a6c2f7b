/** A set of small numbers. Values: no operation changes its operands. */
export class BitSet {
  readonly #words: Uint32Array;

  private constructor(words: Uint32Array) {
    this.#words = words;
  }

  static none(size: number): BitSet {
    return new BitSet(new Uint32Array((size + 31) >> 5));
  }

  static all(size: number): BitSet {
    let bits = BitSet.none(size);
    for (let i = 0; i < size; i++) bits = bits.with(i);
    return bits;
  }

  has(bit: number): boolean {
    return (this.#words[bit >> 5] & (1 << (bit & 31))) !== 0;
  }

  with(bit: number): BitSet {
    const words = this.#words.slice();
    words[bit >> 5] |= 1 << (bit & 31);
    return new BitSet(words);
  }

  without(bit: number): BitSet {
    const words = this.#words.slice();
    words[bit >> 5] &= ~(1 << (bit & 31));
    return new BitSet(words);
  }

  union(other: BitSet): BitSet {
    return new BitSet(this.#words.map((word, i) => word | other.#words[i]));
  }

  intersection(other: BitSet): BitSet {
    return new BitSet(this.#words.map((word, i) => word & other.#words[i]));
  }

  minus(other: BitSet): BitSet {
    return new BitSet(this.#words.map((word, i) => word & ~other.#words[i]));
  }

  equals(other: BitSet): boolean {
    return this.#words.every((word, i) => word === other.#words[i]);
  }

  *members(): IterableIterator<number> {
    for (let bit = 0; bit < this.#words.length * 32; bit++) if (this.has(bit)) yield bit;
  }
}
