/*
 * Memory on the host of arrays that nobody can read any more, for the next arrays of the same size. The engine's
 * collector would find it as well, but late: it does not count memory outside of its heap for much.
 */

/** Byte limit of spare buffers: the arrays of one pass over a fast network. */
const mostBytes = 2 ** 24;

const spare: Map<number, ArrayBuffer[]> = new Map();
let bytes = 0;

/** Adds a buffer that is no longer used. */
export function giveSpare(buffer: ArrayBuffer): void {
  const { byteLength } = buffer;
  if (byteLength > mostBytes) return;
  // Sizes may never be needed again, so all spare buffers are dropped from time to time.
  if (bytes + byteLength > mostBytes) {
    spare.clear();
    bytes = 0;
  }
  const same = spare.get(byteLength);
  if (same === undefined) spare.set(byteLength, [buffer]);
  else same.push(buffer);
  bytes += byteLength;
}

/** A buffer of exactly this size with arbitrary contents; undefined when there is none. */
export function takeSpare(byteLength: number): ArrayBuffer | undefined {
  const buffer = spare.get(byteLength)?.pop();
  if (buffer !== undefined) bytes -= byteLength;
  return buffer;
}
