import type { HostArray } from '../base/dtype.js';

export type Bits = Uint8Array | Uint32Array;

/** The elements as bits, by words where they fill words, since parameters can be large. */
export function bitsOf(data: HostArray): Bits {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (bytes.length % 4 !== 0) return bytes;
  const { buffer, byteOffset } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Uint32Array(buffer, byteOffset, bytes.length / 4);
}

/** A hash in the manner of FNV-1a; equality is always verified. */
export function hashOf(bits: Bits): number {
  let state = 0x811c9dc5;
  for (let i = 0; i < bits.length; i++) {
    state = Math.imul(state ^ bits[i], 0x01000193);
    state ^= state >>> 15; // a word's high bits would not reach the low ones by themselves
  }
  return state >>> 0;
}

/** Bitwise equality, of zeros and NaNs too. */
export function sameBits(a: Bits, b: Bits): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return a.length === b.length;
}
