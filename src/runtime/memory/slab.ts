import { bytesOf, copyElements, type DType, type HostArray, viewOf } from '../../base/dtype.js';
import { giveSpare, takeSpare } from './spare.js';

/*
 * An engine keeps typed arrays of up to 64 bytes in its own heap; each larger one gets memory from the
 * system, which costs a microsecond, more than all else that a small operator does. Small results are
 * therefore cut from slabs. What it costs is memory: one array that stays keeps its slab.
 */

const slabBytes = 2 ** 15;
/** Size limit: above it allocation costs little beside copying, and few arrays would share a slab. */
const mostBytes = 2 ** 12;
/** Size up to which engines allocate arrays in their heap. */
const inHeapBytes = 64;

let slab: ArrayBuffer = new ArrayBuffer(0);
let used = 0;

/** A copy of elements of a dtype, exclusively owned. Its buffer may hold other arrays, too. */
export function slabCopy(dtype: DType, elements: HostArray): HostArray {
  const bytes = elements.byteLength;
  if (bytes <= inHeapBytes) return elements.slice();
  if (bytes > mostBytes) {
    const spare = takeSpare(bytes);
    if (spare === undefined) return elements.slice();
    const copy = viewOf(dtype, spare, 0, elements.length);
    copyElements(copy, elements);
    return copy;
  }
  if (used + bytes > slab.byteLength) {
    slab = new ArrayBuffer(slabBytes);
    used = 0;
  }
  const copy = viewOf(dtype, slab, used, bytes / bytesOf(dtype));
  used += Math.ceil(bytes / 8) * 8;
  copyElements(copy, elements);
  return copy;
}

/** Returns a result of `slabCopy` that is no longer read. */
export function returnCopy({ buffer, byteLength }: HostArray): void {
  if (byteLength > mostBytes && buffer.byteLength === byteLength && buffer instanceof ArrayBuffer)
    giveSpare(buffer);
}
