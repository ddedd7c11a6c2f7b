import type { DType, HostArray } from '../../../base/dtype.js';
import type { BufferBackend, DeviceBuffer } from '../../memory/backend.js';

/** Single elements that are kept on a device. */
const mostScalars = 256;

/** Memory of a device that programs compute in, one of them at a time. */
export class ScratchMemory {
  readonly #backend: BufferBackend;
  #arena: DeviceBuffer | null = null;
  /** Single elements that the host has given, by dtype and bits: the same ones come again and again. */
  readonly #scalars: Map<string, DeviceBuffer> = new Map();
  #losses = 0;

  constructor(backend: BufferBackend) {
    this.#backend = backend;
  }

  /** Notes that a program begins. */
  begin(): void {
    if (this.#scalars.size > mostScalars) this.#dropScalars();
  }

  /** Memory for what programs compute in between, in one buffer; null where one cannot be so large. */
  arena(bytes: number): DeviceBuffer | null {
    const backend = this.#backend;
    if (bytes > backend.limits.bufferBytes) return null;
    this.#noticeLoss();
    if (this.#arena !== null && this.#arena.length >= bytes) return this.#arena;
    if (this.#arena !== null) backend.free(this.#arena);
    this.#arena = null;
    return (this.#arena = backend.allocate('uint8', bytes));
  }

  /** One element of the host's in a buffer that others share: it must not be written to. */
  scalar(dtype: DType, element: HostArray): DeviceBuffer {
    this.#noticeLoss();
    const bits = new Uint8Array(element.buffer, element.byteOffset, element.byteLength);
    const key = `${dtype} ${bits.join()}`;
    let buffer = this.#scalars.get(key);
    if (buffer === undefined) {
      buffer = this.#backend.allocate(dtype, 1);
      this.#backend.write(buffer, element);
      this.#scalars.set(key, buffer);
    }
    return buffer;
  }

  /** Gives all of it back. False where there is none. */
  trim(): boolean {
    const arena = this.#arena;
    const hasAny = arena !== null || this.#scalars.size > 0;
    this.#dropScalars();
    this.#arena = null;
    if (arena !== null) this.#backend.free(arena);
    return hasAny;
  }

  #dropScalars(): void {
    for (const scalar of this.#scalars.values()) this.#backend.free(scalar);
    this.#scalars.clear();
  }

  /** Forgets memory that is gone with the device. */
  #noticeLoss(): void {
    const { losses = 0 } = this.#backend;
    if (losses === this.#losses) return;
    this.#losses = losses;
    this.trim();
  }
}
