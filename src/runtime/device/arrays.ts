import { allocate, bytesOf, type DType, type HostArray } from '../../base/dtype.js';
import type { DeviceBuffer } from '../memory/backend.js';
import { type BufferSlot, copyBetween } from './memory.js';
import type { Snapshot } from '../memory/snapshots.js';
import { type DeviceQueue, fetched } from './queue.js';
import { ManagedBuffer } from './queue/managed.js';
import { mostRemembered } from './queue/residency.js';
import type { Waiting } from './queue/waiting.js';

/** The most elements that are read at once where one of them is asked for. */
const mostAtOnce = 64;

/**
 * An array of a run: on the device, on the host, or, where it has been copied, on both. Those of dtypes that the device
 * lacks are on the host.
 */
export class RunArray {
  readonly dtype: DType;
  readonly length: number;
  readonly #queue: DeviceQueue;
  /** The operand whose elements these are; null for those that the run has made. */
  readonly #operand: ManagedBuffer | null;
  #buffer: DeviceBuffer | null;
  #host: HostArray | null;
  /** True if the buffer is freed with the array. */
  #isOwn: boolean;
  /** True if others read the elements on the host, too. */
  #isShared = false;

  private constructor(
    queue: DeviceQueue,
    dtype: DType,
    length: number,
    buffer: DeviceBuffer | null,
    host: HostArray | null,
    operand: ManagedBuffer | null = null,
  ) {
    this.#queue = queue;
    this.dtype = dtype;
    this.length = length;
    this.#buffer = buffer;
    this.#host = host;
    this.#operand = operand;
    this.#isOwn = buffer !== null && operand === null;
  }

  /** The elements of an operand, which stay the operand's. */
  static given(queue: DeviceQueue, operand: ManagedBuffer): RunArray {
    const { dtype, length, host } = operand;
    // A device that was lost has nothing that the host does not have.
    const buffer = operand.memory === null ? null : queue.memoryOf(operand);
    return new RunArray(queue, dtype, length, buffer, host, operand);
  }

  /** Takes over a buffer. */
  static made(queue: DeviceQueue, buffer: DeviceBuffer): RunArray {
    return new RunArray(queue, buffer.dtype, buffer.length, buffer, null);
  }

  /** Takes over elements on the host. */
  static ofHost(queue: DeviceQueue, dtype: DType, host: HostArray): RunArray {
    return new RunArray(queue, dtype, host.length, null, host);
  }

  /** Elements on the host of an operand, as they were when the run was asked for. */
  static ofSnapshot(queue: DeviceQueue, dtype: DType, { elements, isShared }: Snapshot): RunArray {
    const array = RunArray.ofHost(queue, dtype, elements);
    array.#isShared = isShared;
    return array;
  }

  /** Room for elements, which are undefined, on the device where it has the dtype. */
  static room(queue: DeviceQueue, dtype: DType, length: number): RunArray {
    return queue.has(dtype)
      ? RunArray.made(queue, queue.backend.allocate(dtype, length))
      : RunArray.ofHost(queue, dtype, allocate(dtype, length));
  }

  /** True where the host is the only one to have the elements. */
  get isOnHost(): boolean {
    return this.#buffer === null;
  }

  /** True where the host has the elements, perhaps not alone. */
  get isHostKnown(): boolean {
    return this.#host !== null;
  }

  /** The elements where the host has them; not to be written to. */
  get hostElements(): HostArray | null {
    return this.#host;
  }

  /** All elements, for the host to read. */
  *elements(): Waiting<HostArray> {
    return (this.#host ??= yield* fetched(this.#queue, this.#buffer!));
  }

  /** One element; of few all are read at once, since others will be asked for. */
  *element(index: number): Waiting<number> {
    const { dtype, length } = this;
    if (this.#host === null && length > mostAtOnce) {
      const part = { dtype, length: 1, offset: bytesOf(dtype) * index };
      const [element] = yield* fetched(this.#queue, this.#buffer!, part);
      return Number(element);
    }
    return Number((yield* this.elements())[index]);
  }

  /** Elements for the device to read, from one on: they are copied there if they are not there yet. */
  slot(from: number): BufferSlot {
    const { dtype, length } = this;
    if (this.#buffer === null && length === 1) {
      return { buffer: this.#queue.scalar(dtype, this.#host!), offset: bytesOf(dtype) * from };
    }
    return this.#ownSlot(from);
  }

  #ownSlot(from: number): BufferSlot {
    if (this.#buffer === null) {
      if (this.#operand !== null) this.#buffer = this.#queue.memoryOf(this.#operand);
      else {
        const { backend } = this.#queue;
        this.#buffer = backend.allocate(this.dtype, this.length);
        this.#isOwn = true;
        backend.write(this.#buffer, this.#host!);
      }
    }
    return { buffer: this.#buffer, offset: bytesOf(this.dtype) * from };
  }

  /** Elements for the device to write, from one on: the host's copy is dropped. Not for operands. */
  target(from: number): BufferSlot {
    const slot = this.#ownSlot(from);
    this.#host = null;
    return slot;
  }

  /** The elements of an array on the host, to be written to: only where `isOnHost`. */
  get hostTarget(): HostArray {
    if (this.#isShared) this.#host = this.#host!.slice();
    this.#isShared = false;
    return this.#host!;
  }

  /** The same elements once more, where these are. */
  copy(): RunArray {
    if (this.#buffer === null) return RunArray.ofHost(this.#queue, this.dtype, this.#host!.slice());
    const { backend } = this.#queue;
    const buffer = backend.allocate(this.dtype, this.length);
    backend.copy(this.#buffer, buffer);
    return RunArray.made(this.#queue, buffer);
  }

  /** Some of the elements, as an array of their own. */
  *part(from: number, length: number): Waiting<RunArray> {
    const { dtype } = this;
    if (!this.#queue.has(dtype) || this.#buffer === null) {
      const elements = yield* this.elements();
      return RunArray.ofHost(this.#queue, dtype, elements.slice(from, from + length));
    }
    const buffer = this.#queue.backend.allocate(dtype, length);
    copyBetween(this.#queue, dtype, this.slot(from), { buffer, offset: 0 }, length);
    return RunArray.made(this.#queue, buffer);
  }

  /** Takes the memory that `moveInto` wants for this target, or `handOver` and `takeBuffer` for none. */
  prepareFor(target: ManagedBuffer | null): void {
    const isCopied = target !== null && target.memory !== null && this.#buffer !== null;
    if (target?.isUnused !== true && !this.#isForHost && !isCopied) this.#makeOwn();
  }

  /** Puts the elements into an array that is a result, or a target of the run. This one must not be used any more. */
  moveInto(target: ManagedBuffer): void {
    const queue = this.#queue;
    // Nobody wants them any more.
    if (target.isUnused) return this.free();
    if (this.#isForHost) return queue.keep(target, this.hostTarget);
    const { memory } = target;
    if (memory === null || this.#buffer === null) {
      return queue.put(target, this.takeBuffer(), this.#host);
    }
    queue.backend.copy(this.#buffer, memory);
    queue.put(target, memory, this.#host);
    this.free();
  }

  /** A buffer with the elements that is nobody else's; the array must not be used any more. */
  takeBuffer(): DeviceBuffer {
    const buffer = this.#makeOwn();
    this.#isOwn = false;
    return buffer;
  }

  #makeOwn(): DeviceBuffer {
    const { buffer } = this.#ownSlot(0);
    if (this.#isOwn) return buffer;
    const { backend } = this.#queue;
    this.#buffer = backend.allocate(this.dtype, this.length);
    this.#isOwn = true;
    backend.copy(buffer, this.#buffer);
    return this.#buffer;
  }

  /** True for elements that are not written to the device until it reads them, as counts, which go on on the host. */
  get #isForHost(): boolean {
    const { dtype, length } = this;
    if (!this.#queue.has(dtype)) return true;
    return this.#buffer === null && dtype === 'int64' && bytesOf(dtype) * length <= mostRemembered;
  }

  /** The elements as an array that is nobody else's; this one must not be used any more. */
  handOver(): ManagedBuffer {
    const made = new ManagedBuffer(this.dtype, this.length);
    if (this.#isForHost) this.#queue.keep(made, this.#host!.slice());
    else this.#queue.put(made, this.takeBuffer(), this.#host);
    return made;
  }

  free(): void {
    if (this.#isOwn && this.#buffer !== null) this.#queue.backend.free(this.#buffer);
    this.#isOwn = false;
  }
}
