/** A growing sequence of bytes in the encodings that WebAssembly uses. */
export class ByteWriter {
  #bytes: Uint8Array;
  #length = 0;

  constructor(capacity: number = 256) {
    this.#bytes = new Uint8Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** The bytes so far; a view, valid until the next write. */
  get bytes(): Uint8Array<ArrayBufferLike> {
    return this.#bytes.subarray(0, this.#length);
  }

  u8(value: number): void {
    if (this.#length === this.#bytes.length) this.#grow(1);
    this.#bytes[this.#length++] = value;
  }

  /** Unsigned LEB128, up to 32 bits. */
  u32(value: number): void {
    let rest = value >>> 0;
    while (rest > 0x7f) {
      this.u8((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.u8(rest);
  }

  /** Signed LEB128 of an i32. */
  s32(value: number): void {
    let rest = value | 0;
    while (rest < -0x40 || rest > 0x3f) {
      this.u8((rest & 0x7f) | 0x80);
      rest >>= 7;
    }
    this.u8(rest & 0x7f);
  }

  /** Signed LEB128 of an i64. */
  s64(value: bigint): void {
    let rest = BigInt.asIntN(64, value);
    while (rest < -0x40n || rest > 0x3fn) {
      this.u8(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    this.u8(Number(rest & 0x7fn));
  }

  append(bytes: Uint8Array): void {
    if (this.#length + bytes.length > this.#bytes.length) this.#grow(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** A length in bytes, then the bytes. */
  sized(bytes: Uint8Array): void {
    this.u32(bytes.length);
    this.append(bytes);
  }

  /** UTF-8 with its length before it. */
  name(text: string): void {
    this.sized(new TextEncoder().encode(text));
  }

  #grow(more: number): void {
    const bytes = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + more));
    bytes.set(this.bytes);
    this.#bytes = bytes;
  }
}
