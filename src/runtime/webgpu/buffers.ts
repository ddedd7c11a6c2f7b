import { bytesOf, type DType } from '../../base/dtype.js';
import { DeviceError } from '../../base/errors.js';
import type { DeviceBuffer } from '../memory/backend.js';
import { overBudget } from '../memory/exhausted.js';
import type { GpuCommands } from './commands.js';

/** Smallest size class, in bytes. */
const smallest = 256;

/** The most bytes of buffers that share memory, and the most bytes of memory that they share. */
const mostShared = 2 ** 10;
const slabBytes = 2 ** 18;

/** The least bytes of a buffer that shares its memory with no other. */
export const leastOwnBytes: number = mostShared + 1;

/** The most bytes that are kept for later. */
const mostKept = 2 ** 28;

/** Memory of one buffer: a numbered buffer of the GPU, from a byte on. */
interface Place {
  readonly id: number;
  readonly base: number;
}

/** Memory of a GPU with elements of one dtype. */
export class GpuBuffer implements DeviceBuffer {
  readonly dtype: DType;
  readonly length: number;
  /** Number of the memory; -1 once it has been freed. */
  id: number;
  /** The byte of the memory at which the elements begin. */
  base: number;
  /** Life of the device in which the elements were made; see `BufferPool.life`. */
  life: number;

  constructor(dtype: DType, length: number, { id, base }: Place, life: number) {
    this.dtype = dtype;
    this.length = length;
    this.id = id;
    this.base = base;
    this.life = life;
  }

  get bytes(): number {
    return bytesOf(this.dtype) * this.length;
  }
}

/** Bytes of the size class of so many bytes: four classes between powers of two. */
function sizeClass(bytes: number): number {
  if (bytes <= smallest) return smallest;
  const step = 2 ** (Math.ceil(Math.log2(bytes)) - 3);
  return Math.ceil(bytes / step) * step;
}

/**
 * Memory of a GPU in buffers of certain sizes, which are used again. Since commands are carried out in order, a buffer
 * may be given to somebody else as soon as all commands that use it have been given. Small ones share memory: buffers
 * of the GPU cost thousands of bytes each, and more than that until code returns to the event loop.
 */
export class BufferPool {
  readonly #bufferBytes: number;
  readonly #budget: number;
  #commands: GpuCommands;
  /** Number of times that the device has been lost. Elements of an earlier life are gone. */
  life = 0;
  #ids = 0;
  /** Free memory by size class. */
  readonly #free: Map<number, Place[]> = new Map();
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
    const { bytes, id, base, life } = buffer;
    const size = this.#sizeOf(bytes);
    buffer.id = -1;
    this.#bytesInUse -= bytes;
    this.#usedBytes -= size;
    if (life !== this.life) return;
    if (!this.#isShared(size) && this.#keptBytes + size > mostKept)
      return this.#commands.destroyBuffer(id);
    this.#keep(size, { id, base });
  }

  /** Gives a buffer of an earlier life memory again, for new elements. */
  revive(buffer: GpuBuffer): void {
    if (buffer.life === this.life) return;
    const { id, base } = this.#take(this.#sizeOf(buffer.bytes));
    buffer.id = id;
    buffer.base = base;
    buffer.life = this.life;
  }

  /** Destroys the memory that is kept for later: of what several share, what nobody has a part of. */
  trim(): void {
    for (const [size, places] of this.#free) {
      const whole = this.#isShared(size) ? Math.floor(slabBytes / size) : 1;
      const counts = new Map<number, number>();
      for (const { id } of places) counts.set(id, (counts.get(id) ?? 0) + 1);
      const isWhole = (id: number): boolean => counts.get(id) === whole;
      for (const id of counts.keys()) if (isWhole(id)) this.#commands.destroyBuffer(id);
      const left = places.filter(({ id }) => !isWhole(id));
      this.#keptBytes -= size * (places.length - left.length);
      if (left.length === 0) this.#free.delete(size);
      else this.#free.set(size, left);
    }
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
    if (this.#usedBytes + size > this.#budget) throw overBudget(bytes, this.#usedBytes, this.#budget); // prettier-ignore
    return size;
  }

  #isShared(size: number): boolean {
    return size <= mostShared && this.#budget >= 16 * slabBytes;
  }

  #keep(size: number, place: Place): void {
    let free = this.#free.get(size);
    if (free === undefined) this.#free.set(size, (free = []));
    free.push(place);
    this.#keptBytes += size;
  }

  #take(size: number): Place {
    const kept = this.#free.get(size)?.pop();
    if (kept !== undefined) {
      this.#keptBytes -= size;
      return kept;
    }
    const bytes = this.#isShared(size) ? slabBytes : size;
    if (this.bytesTaken + bytes > this.#budget) {
      this.trim();
      if (this.bytesTaken + bytes > this.#budget) throw overBudget(bytes, this.bytesTaken, this.#budget); // prettier-ignore
    }
    const id = this.#ids++;
    this.#commands.createBuffer(id, bytes);
    for (let base = size; base + size <= bytes; base += size) this.#keep(size, { id, base });
    return { id, base: 0 };
  }
}
