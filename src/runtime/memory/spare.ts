/*
 * Memory on the host of arrays that nobody can read any more, for the next arrays of the same size. The engine's
 * collector would find it as well, but late: it does not count memory outside of its heap for much.
 */

/** What is kept at most: the arrays of one pass over a network whose steps take little time. */
const mostBytes = 2 ** 24;

const spare: Map<number, ArrayBuffer[]> = new Map();
let bytes = 0;

/** Takes over a buffer that nobody will read or write any more. */
export function giveSpare(buffer: ArrayBuffer): void {
  const { byteLength } = buffer;
  if (byteLength > mostBytes) return;
  // Sizes that were wanted once may never be wanted again: from time to time all of them go.
  if (bytes + byteLength > mostBytes) {
    spare.clear();
    bytes = 0;
  }
  const same = spare.get(byteLength);
  if (same === undefined) spare.set(byteLength, [buffer]);
  else same.push(buffer);
  bytes += byteLength;
}

/** A buffer of exactly so many bytes, with anything in it; undefined where none is left over. */
export function takeSpare(byteLength: number): ArrayBuffer | undefined {
  const buffer = spare.get(byteLength)?.pop();
  if (buffer !== undefined) bytes -= byteLength;
  return buffer;
}
