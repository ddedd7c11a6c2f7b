import { allocate, bytesOf, type DType, type HostArray } from '../../base/dtype.js';
import type { DeviceBuffer } from '../memory/backend.js';
import { type BufferSlot, copyBetween } from './memory.js';
import { type DeviceQueue, fetched, mostRemembered, type Waiting } from './queue.js';

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
  #buffer: DeviceBuffer | null;
  #host: HostArray | null;
  /** True if the buffer is freed with the array. */
  #isOwn: boolean;

  private constructor(
    queue: DeviceQueue,
    dtype: DType,
    length: number,
    buffer: DeviceBuffer | null,
    host: HostArray | null,
    isOwn: boolean,
  ) {
    this.#queue = queue;
    this.dtype = dtype;
    this.length = length;
    this.#buffer = buffer;
    this.#host = host;
    this.#isOwn = isOwn;
  }

  /** An operand's buffer, which stays the operand's. */
  static given(queue: DeviceQueue, buffer: DeviceBuffer): RunArray {
    const { dtype, length } = buffer;
    const own = queue.isWritten(buffer) ? buffer : null;
    return new RunArray(queue, dtype, length, own, queue.kept(buffer), false);
  }

  /** Takes over a buffer. */
  static made(queue: DeviceQueue, buffer: DeviceBuffer): RunArray {
    return new RunArray(queue, buffer.dtype, buffer.length, buffer, null, true);
  }

  /** Takes over elements on the host. */
  static ofHost(queue: DeviceQueue, dtype: DType, host: HostArray): RunArray {
    return new RunArray(queue, dtype, host.length, null, host, true);
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
      const { backend } = this.#queue;
      const buffer = backend.allocate(this.dtype, this.length);
      backend.write(buffer, this.#host!);
      this.#buffer = buffer;
      this.#isOwn = true;
    }
    return { buffer: this.#buffer, offset: bytesOf(this.dtype) * from };
  }

  /** Elements for the device to write, from one on: the host's copy is dropped. */
  target(from: number): BufferSlot {
    const slot = this.#ownSlot(from);
    this.#host = null;
    return slot;
  }

  /** The elements of an array on the host, to be written to: only where `isOnHost`. */
  get hostTarget(): HostArray {
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

  /** Puts the elements into a buffer of a result, or of a target of the run. */
  moveInto(buffer: DeviceBuffer): void {
    const { backend } = this.#queue;
    if (this.#isForHost) return this.#queue.keep(buffer, this.#host!);
    if (this.#buffer !== null) backend.copy(this.#buffer, buffer);
    else backend.write(buffer, this.#host!);
    this.#queue.remember(buffer, this.#host);
  }

  /** True for elements that are not written to the device until it reads them, as counts, which go on on the host. */
  get #isForHost(): boolean {
    const { dtype, length } = this;
    if (!this.#queue.has(dtype)) return true;
    return this.#buffer === null && dtype === 'int64' && bytesOf(dtype) * length <= mostRemembered;
  }

  /** A buffer with the elements that is nobody else's; the array must not be used any more. */
  handOver(): DeviceBuffer {
    const { dtype, length } = this;
    if (this.#isForHost) {
      const kept = this.#queue.allocateResult(dtype, length);
      this.#queue.keep(kept, this.#host!.slice());
      return kept;
    }
    const { buffer } = this.#ownSlot(0);
    if (this.#isOwn) {
      this.#isOwn = false;
      this.#queue.remember(buffer, this.#host);
      return buffer;
    }
    return this.copy().handOver();
  }

  free(): void {
    if (this.#isOwn && this.#buffer !== null) this.#queue.backend.free(this.#buffer);
    this.#isOwn = false;
  }
}
