import { bytesOf, type HostArray } from '../../base/dtype.js';
import { DeviceError } from '../../base/errors.js';
import type { BufferBackend, DeviceBuffer } from './backend.js';
import { type Generation, Generations, type Mortal } from './generations.js';

/**
 * Budgets by which dead results are looked for: that of a device that says none, and the least, since to look costs a
 * collection, and arrays that are not found in time move to the host.
 */
const usualBudget = 2 ** 28;
const leastBudget = 2 ** 23;

/** Bytes that the least buffer costs, with what belongs to it. */
const leastBytes = 2 ** 12;

const byBackend = new WeakMap<BufferBackend, Generations>();

function generationsOf(backend: BufferBackend): Generations {
  let generations = byBackend.get(backend);
  if (generations === undefined) {
    const budget = Math.min(backend.limits.budget ?? Infinity, usualBudget);
    generations = new Generations(Math.max(budget, leastBudget));
    byBackend.set(backend, generations);
  }
  return generations;
}

/** Prepares to find dead results on a device. It can be done once code has returned to the event loop. */
export function expectResults(backend: BufferBackend): void {
  generationsOf(backend);
}

/** Frees the buffers of arrays that nobody holds any more, once code has returned to the event loop. */
const dropped = new FinalizationRegistry<OwnedBuffer>((owned) => owned.die());

/** A buffer that ends with its owner. */
class OwnedBuffer implements Mortal {
  readonly backend: BufferBackend;
  readonly buffer: DeviceBuffer;
  readonly bytes: number;
  generation: Generation | null = null;
  #isFreed = false;

  constructor(backend: BufferBackend, buffer: DeviceBuffer) {
    this.backend = backend;
    this.buffer = buffer;
    this.bytes = Math.max(bytesOf(buffer.dtype) * buffer.length, leastBytes);
  }

  /** Frees the buffer, once. */
  die(): void {
    if (this.#isFreed) return;
    this.#isFreed = true;
    dropped.unregister(this);
    generationsOf(this.backend).leave(this);
    this.backend.free(this.buffer);
  }
}

/** BufferPlace of an array's elements on another device than the CPU, for the array to hold. */
export interface BufferPlace {
  readonly backend: BufferBackend;
  readonly buffer: DeviceBuffer;
  /** True where the elements can be read at once. */
  readonly isKnown: boolean;
  read(): HostArray | Promise<HostArray>;
  /** Frees the buffer at once. */
  free(): void;
}

/** Elements of an array on another device than the CPU, for their owner to hold. */
export class Elsewhere implements BufferPlace {
  readonly #owned: OwnedBuffer;
  /** See `Generations`. */
  readonly witness: object;

  /** Takes a buffer over, which is freed when nobody holds its owner any more. */
  constructor(backend: BufferBackend, buffer: DeviceBuffer, owner: object) {
    this.#owned = new OwnedBuffer(backend, buffer);
    dropped.register(owner, this.#owned, this.#owned);
    this.witness = generationsOf(backend).enroll(this.#owned);
  }

  get backend(): BufferBackend {
    return this.#owned.backend;
  }

  get buffer(): DeviceBuffer {
    return this.#owned.buffer;
  }

  get isKnown(): boolean {
    const { backend, buffer } = this;
    return backend.answersAtOnce || (backend.readNow?.(buffer) ?? null) !== null;
  }

  read(): HostArray | Promise<HostArray> {
    return this.backend.read(this.buffer);
  }

  free(): void {
    this.#owned.die();
  }
}

/** Elements that a device will have when it is known how many there are. */
export class LaterPlace implements BufferPlace {
  readonly backend: BufferBackend;
  readonly isKnown = false;
  readonly #arrival: Promise<unknown>;
  #place: Elsewhere | null = null;
  #isFreed = false;

  /** @param arrival Settled when the elements have arrived. It never rejects. */
  constructor(backend: BufferBackend, arrival: Promise<unknown>) {
    this.backend = backend;
    this.#arrival = arrival;
  }

  /** Takes the buffer over. */
  arrive(buffer: DeviceBuffer): void {
    if (this.#isFreed) this.backend.free(buffer);
    else this.#place = new Elsewhere(this.backend, buffer, this);
  }

  /** @throws DeviceError until it is there. */
  get buffer(): DeviceBuffer {
    if (this.#place === null) throw notYetKnown(this.backend);
    return this.#place.buffer;
  }

  read(): HostArray | Promise<HostArray> {
    return this.#place === null
      ? this.#arrival.then(() => this.#place!.read())
      : this.#place.read();
  }

  free(): void {
    this.#isFreed = true;
    this.#place?.free();
  }
}

/** The refusal of the size of an array that a device has yet to tell. */
export function notYetKnown({ name }: BufferBackend): DeviceError {
  return new DeviceError('the size of an array is not known yet', {
    op: 'shape',
    expected: 'an array whose size follows from those of others, or that has been read',
    actual: `a size that the data decides, on the device ${name}, which answers later`,
    advice:
      'wait for it: await x.data(), compute on a copy: const y = await x.cpu(), or capture the code (hybridize), which needs no size',
  });
}

/**
 * Frees buffers of arrays that nobody holds any more, also while synchronous code runs. Arrays in use have to be held
 * by the caller. `isUrgent` looks for them though little has been made since the last time.
 */
export function freeDropped(backend: BufferBackend, isUrgent: boolean = false): void {
  generationsOf(backend).lookIfDue(isUrgent);
}
