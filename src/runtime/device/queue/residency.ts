import type { HostArray } from '../../../base/dtype.js';
import { InternalError } from '../../../base/errors.js';
import { freeDropped } from '../../memory/elsewhere.js';
import type { BufferBackend, DeviceBuffer } from '../../memory/backend.js';
import { OverBudgetError } from '../../memory/exhausted.js';
import { answered, readAll, waited, type Waiting } from './waiting.js';
import type { ManagedBuffer } from './managed.js';

/** The most bytes of elements that the host remembers when it has given them to a device. */
export const mostRemembered: number = 2 ** 10;

/** Part of a budget that is made free at least, so that not every array makes room for itself alone. */
const leastShare = 1 / 16;

/**
 * Decides which arrays are in a device's memory. Where it is full, those that were used longest ago move to the host,
 * and come back when they are used.
 */
export class Residency {
  readonly #backend: BufferBackend;
  /** Arrays in the device's memory, from the one that was used longest ago. */
  readonly #resident: Set<ManagedBuffer> = new Set();
  /** Bytes of arrays that have left the device to make room. */
  bytesSpilled = 0;

  constructor(backend: BufferBackend) {
    this.#backend = backend;
  }

  get #losses(): number {
    return this.#backend.losses ?? 0;
  }

  /**
   * The memory of an array on the device: its elements are written there if only the host has them.
   * @throws OverBudgetError where there is no room.
   */
  memoryOf(buffer: ManagedBuffer): DeviceBuffer {
    const { memory, host } = buffer;
    if (memory !== null && (host === null || buffer.losses === this.#losses)) {
      this.#touch(buffer);
      return memory;
    }
    if (host === null) throw new InternalError('elements were read before they were computed');
    // What was lost with the device is not lost where the host has it, too.
    if (memory !== null) this.leave(buffer);
    this.put(buffer, this.#written(buffer, host), host);
    return buffer.memory!;
  }

  /** Gives an array new elements: on the device where there is room, else on the host. */
  write(buffer: ManagedBuffer, elements: HostArray, isOwn: boolean): void {
    try {
      if (buffer.memory !== null) this.#backend.write(buffer.memory, elements);
      this.put(buffer, buffer.memory ?? this.#written(buffer, elements), isOwn ? elements : null);
    } catch (error) {
      if (!(error instanceof OverBudgetError)) throw error;
      this.keep(buffer, isOwn ? elements : elements.slice());
      this.#spilled(buffer);
    }
  }

  /** Has memory of the device be an array's, with its elements in it. @param host The same on the host, or null. */
  put(buffer: ManagedBuffer, memory: DeviceBuffer, host: HostArray | null): void {
    if (buffer.memory !== memory) this.leave(buffer);
    this.#returned(buffer);
    buffer.memory = memory;
    buffer.losses = this.#losses;
    if (!buffer.isBacked) buffer.host = host !== null && host.byteLength <= mostRemembered ? host : null; // prettier-ignore
    this.#touch(buffer);
  }

  /** Has only the host keep an array's elements. */
  keep(buffer: ManagedBuffer, elements: HostArray): void {
    this.#returned(buffer);
    this.leave(buffer);
    buffer.host = elements;
  }

  /** Frees the device's memory of an array. */
  leave(buffer: ManagedBuffer): void {
    const { memory } = buffer;
    if (memory === null) return;
    this.#resident.delete(buffer);
    buffer.memory = null;
    this.#backend.free(memory);
  }

  /** Frees all memory of an array. */
  free(buffer: ManagedBuffer): void {
    this.#returned(buffer);
    this.leave(buffer);
    buffer.host = null;
  }

  /**
   * Makes room on the device: arrays that are not needed at the moment go to the host.
   * @returns False where nothing can go.
   */
  *makeRoom(
    wanted: number,
    needed: ReadonlySet<ManagedBuffer>,
    queue: BufferBackend,
  ): Waiting<boolean> {
    if (this.#leavable(1, needed).length === 0) return false;
    // A turn of the event loop, in which finalizers find what nobody holds any more.
    if (!this.#backend.answersAtOnce) yield* waited(new Promise<void>((resolve) => setTimeout(resolve))); // prettier-ignore
    freeDropped(queue, true);
    const { budget = 0 } = this.#backend.limits;
    const leaving = this.#leavable(Math.max(wanted, budget * leastShare), needed);
    const asked = leaving.filter(({ host }) => host === null);
    const reads = asked.map(({ memory }) => ({ buffer: memory! }));
    const elements = yield* answered(readAll(this.#backend, reads));
    for (const buffer of leaving) {
      if (buffer.isUnused) continue;
      this.keep(buffer, buffer.host ?? elements[asked.indexOf(buffer)]);
      this.#spilled(buffer);
    }
    return true;
  }

  /** Arrays in the device's memory that are not needed, from the one that was used longest ago, with so many bytes if there are. */
  #leavable(bytes: number, needed: ReadonlySet<ManagedBuffer>): ManagedBuffer[] {
    const found: ManagedBuffer[] = [];
    let sum = 0;
    for (const buffer of this.#resident) {
      if (sum >= bytes) break;
      if (needed.has(buffer) || buffer.bytes === 0 || buffer.losses !== this.#losses) continue;
      found.push(buffer);
      sum += buffer.bytes;
    }
    return found;
  }

  #written({ dtype, length }: ManagedBuffer, elements: HostArray): DeviceBuffer {
    const memory = this.#backend.allocate(dtype, length);
    this.#backend.write(memory, elements);
    return memory;
  }

  #touch(buffer: ManagedBuffer): void {
    this.#resident.delete(buffer);
    this.#resident.add(buffer);
  }

  #spilled(buffer: ManagedBuffer): void {
    if (buffer.isBacked) return;
    buffer.isSpilled = true;
    this.bytesSpilled += buffer.bytes;
  }

  #returned(buffer: ManagedBuffer): void {
    if (!buffer.isSpilled) return;
    buffer.isSpilled = false;
    this.bytesSpilled -= buffer.bytes;
  }
}
