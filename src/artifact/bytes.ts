import type { HostArray } from '../base/dtype.js';

/** The bytes of arrays, concatenated. */
export function joinedBytes(arrays: readonly HostArray[]): Uint8Array {
  const all = new Uint8Array(arrays.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const { buffer, byteOffset, byteLength } of arrays) {
    all.set(new Uint8Array(buffer, byteOffset, byteLength), at);
    at += byteLength;
  }
  return all;
}
