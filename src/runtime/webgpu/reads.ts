import { bytesOf, type DType, type HostArray, viewOf } from '../../base/dtype.js';
import type { BufferPart } from '../memory/backend.js';
import type { GpuBuffer } from './buffers.js';
import type { BufferRange } from './commands.js';

/** Bytes of whole words. */
export function padded(bytes: number): number {
  return Math.ceil(bytes / 4) * 4;
}

/** Bytes of a buffer that are read, and where the elements that are asked for lie in the answer. */
interface PartOfAnswer {
  readonly range: BufferRange;
  readonly dtype: DType;
  readonly length: number;
  readonly at: number;
}

/** Elements of several buffers that are read at once: whole words of each, one behind the other. */
export class JoinedAnswer {
  readonly #parts: readonly PartOfAnswer[];
  readonly bytes: number;

  constructor(reads: readonly (readonly [GpuBuffer, BufferPart | undefined])[]) {
    let end = 0;
    this.#parts = reads.map(([{ id, base, ...whole }, part = { ...whole, offset: 0 }]) => {
      const { dtype, length, offset } = part;
      const begin = Math.floor(offset / 4) * 4;
      const bytes = padded(offset + bytesOf(dtype) * length) - begin;
      const at = end + offset - begin;
      end += bytes;
      return { range: { id, base: base + begin, bytes }, dtype, length, at };
    });
    this.bytes = end;
  }

  get ranges(): readonly BufferRange[] {
    return this.#parts.map(({ range }) => range);
  }

  /** The elements of each buffer, as arrays of their own. */
  elementsIn({ buffer, byteOffset }: Uint8Array): readonly HostArray[] {
    return this.#parts.map(({ dtype, length, at }) => {
      const first = byteOffset + at;
      return viewOf(dtype, buffer.slice(first, first + bytesOf(dtype) * length), 0, length);
    });
  }
}
