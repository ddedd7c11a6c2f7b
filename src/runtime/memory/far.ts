import { type DType, type HostArray, viewOf } from '../../base/dtype.js';
import { alignment } from '../../passes/plan/memory.js';
import { exhausted } from './exhausted.js';

/** Access of native code to memory of this process outside that of WebAssembly. */
export interface ProcessMemory {
  /** The address in this process of a buffer's first byte, which stays where it is. */
  pointer(buffer: ArrayBufferLike): number;
  /** Bytes of memory that the machine, or the process, may have. */
  readonly bytes: number;
}

/**
 * Addresses from here on are those of `FarMemory`: addresses of the process, moved up so that they are beyond all
 * of WebAssembly's. Exact as numbers, since those of processes have at most 47 bits.
 */
const farStart = 2 ** 48;

/** True if only native code reaches an address. */
export function isFar(address: number): boolean {
  return address >= farStart;
}

interface FarRegion {
  readonly buffer: ArrayBuffer;
  /** Of the region in its buffer. */
  readonly offset: number;
  readonly bytes: number;
}

/**
 * Memory beyond that of WebAssembly, for native code: each region is an `ArrayBuffer`, so that JavaScript has
 * views on it and the system gives its pages when they are written first.
 */
export class FarMemory {
  readonly #memory: ProcessMemory;
  readonly #regions: Map<number, FarRegion> = new Map();
  #bytes = 0;

  constructor(memory: ProcessMemory) {
    this.#memory = memory;
  }

  /** The bytes that are taken. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The bytes that there are beside `others`. */
  free(others: number): number {
    return Math.max(0, this.#memory.bytes - this.#bytes - others);
  }

  /**
   * The address of a new region.
   * @throws ExhaustedError when the machine has not so much beside `others`.
   */
  take(bytes: number, others: number): number {
    const free = this.free(others);
    const details = { free, most: this.#memory.bytes, advice: 'run smaller batches, or a machine with more memory' }; // prettier-ignore
    if (bytes > free) throw exhausted(bytes, details);
    let buffer: ArrayBuffer;
    try {
      buffer = new ArrayBuffer(bytes + alignment);
    } catch (cause) {
      throw exhausted(bytes, { ...details, cause });
    }
    const pointer = this.#memory.pointer(buffer);
    const offset = Math.ceil(pointer / alignment) * alignment - pointer;
    const address = farStart + pointer + offset;
    this.#regions.set(address, { buffer, offset, bytes });
    this.#bytes += bytes;
    return address;
  }

  release(address: number): void {
    const { bytes } = this.#regions.get(address)!;
    this.#regions.delete(address);
    this.#bytes -= bytes;
  }

  /** Elements of the region `start`, some bytes behind its beginning. */
  view(dtype: DType, start: number, bytes: number, length: number): HostArray {
    const { buffer, offset } = this.#regions.get(start)!;
    return viewOf(dtype, buffer, offset + bytes, length);
  }

  /** The distance of an address from the first byte of a buffer, as native code adds it to a pointer to that. */
  distance(address: number, from: ArrayBufferLike): number {
    return address - farStart - this.#memory.pointer(from);
  }
}
