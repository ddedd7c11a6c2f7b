import { bytesOf, type DType } from '../../base/dtype.js';
import { DeviceError } from '../../base/errors.js';
import type { DeviceBuffer } from '../memory/backend.js';
import type { GpuCommands } from './commands.js';

/** Smallest size class, in bytes. */
const smallest = 256;

/** The most bytes that are kept for later. */
const mostKept = 2 ** 28;

/** Memory of a GPU with elements of one dtype. */
export class GpuBuffer implements DeviceBuffer {
  readonly dtype: DType;
  readonly length: number;
  /** Number of the memory; -1 once it has been freed. */
  id: number;
  /** Life of the device in which the elements were made; see `BufferPool.life`. */
  life: number;

  constructor(dtype: DType, length: number, id: number, life: number) {
    this.dtype = dtype;
    this.length = length;
    this.id = id;
    this.life = life;
  }

  get bytes(): number {
    return bytesOf(this.dtype) * this.length;
  }
}

/** Bytes of the size class of so many bytes: four classes between powers of two. */
export function sizeClass(bytes: number): number {
  if (bytes <= smallest) return smallest;
  const step = 2 ** (Math.ceil(Math.log2(bytes)) - 3);
  return Math.ceil(bytes / step) * step;
}

/**
 * Memory of a GPU in buffers of certain sizes, which are used again. Since commands are carried out in order, a buffer
 * may be given to somebody else as soon as all commands that use it have been given.
 */
export class BufferPool {
  readonly #bufferBytes: number;
  readonly #budget: number;
  #commands: GpuCommands;
  /** Number of times that the device has been lost. Elements of an earlier life are gone. */
  life = 0;
  #ids = 0;
  /** Free memory by size class. */
  readonly #free: Map<number, number[]> = new Map();
  #keptBytes = 0;
  /** Of memory in use, in size classes. */
  #usedBytes = 0;
  #bytesInUse = 0;

  constructor(commands: GpuCommands, budget: number) {
    this.#commands = commands;
    this.#bufferBytes = commands.properties.bufferBytes;
    this.#budget = budget;
  }

  /** Bytes of elements in buffers that have not been freed. */
  get bytesInUse(): number {
    return this.#bytesInUse;
  }

  /** Bytes of the device's memory that are taken: those in use and those that are kept for later. */
  get bytesTaken(): number {
    return this.#usedBytes + this.#keptBytes;
  }

  /** @throws DeviceError for more than one buffer may have, or than the budget leaves; nothing is changed then. */
  allocate(dtype: DType, length: number): GpuBuffer {
    const bytes = bytesOf(dtype) * length;
    const size = this.#sizeFor(bytes);
    const buffer = new GpuBuffer(dtype, length, this.#take(size), this.life);
    this.#usedBytes += size;
    this.#bytesInUse += bytes;
    return buffer;
  }

  free(buffer: GpuBuffer): void {
    const { bytes, id, life } = buffer;
    const size = this.#sizeOf(bytes);
    buffer.id = -1;
    this.#bytesInUse -= bytes;
    this.#usedBytes -= size;
    if (life !== this.life) return;
    if (this.#keptBytes + size > mostKept) return this.#commands.destroyBuffer(id);
    let free = this.#free.get(size);
    if (free === undefined) this.#free.set(size, (free = []));
    free.push(id);
    this.#keptBytes += size;
  }

  /** Gives a buffer of an earlier life memory again, for new elements. */
  revive(buffer: GpuBuffer): void {
    if (buffer.life === this.life) return;
    buffer.id = this.#take(this.#sizeOf(buffer.bytes));
    buffer.life = this.life;
  }

  /** Destroys the memory that is kept for later. */
  trim(): void {
    for (const ids of this.#free.values()) for (const id of ids) this.#commands.destroyBuffer(id);
    this.#free.clear();
    this.#keptBytes = 0;
  }

  /** Goes on with another GPU: all elements so far are gone. */
  restart(commands: GpuCommands): void {
    this.#commands = commands;
    this.#free.clear();
    this.#keptBytes = 0;
    this.life++;
  }

  #sizeOf(bytes: number): number {
    return Math.min(sizeClass(bytes), this.#bufferBytes);
  }

  #sizeFor(bytes: number): number {
    const size = this.#sizeOf(bytes);
    if (bytes > this.#bufferBytes) {
      throw new DeviceError('an array is too large for a buffer of the device', {
        op: 'allocate',
        expected: `at most ${this.#bufferBytes} bytes`,
        actual: `${bytes} bytes`,
        advice: 'divide it into several arrays, or compute on the CPU: await x.cpu()',
      });
    }
    if (this.#usedBytes + size > this.#budget) {
      throw new DeviceError('the memory of the device is exhausted', {
        op: 'allocate',
        expected: `at most ${this.#budget} bytes in use`,
        actual: `${bytes} bytes beside ${this.#usedBytes}`,
        advice: 'drop arrays, or copy them to the host: await x.cpu()',
      });
    }
    return size;
  }

  #take(size: number): number {
    const kept = this.#free.get(size)?.pop();
    if (kept !== undefined) {
      this.#keptBytes -= size;
      return kept;
    }
    if (this.bytesTaken + size > this.#budget) this.trim();
    const id = this.#ids++;
    this.#commands.createBuffer(id, size);
    return id;
  }
}
