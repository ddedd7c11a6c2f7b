import type * as kn from '../../src/index.js';

/** The elements of an array as they are stored: halves are their bits. */
export function stored(array: kn.NDArray): {
  readonly data: ArrayBufferView;
  readonly shape: readonly number[];
} {
  return { data: array.storage.host.slice(), shape: array.shape };
}

export function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer.slice(byteOffset, byteOffset + byteLength));
}
