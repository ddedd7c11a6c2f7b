import { bytesOf } from '../../base/dtype.js';
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

/** Elements of an array on another device than the CPU, for their owner to hold. */
export class Elsewhere {
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

  /** Frees the buffer at once. */
  free(): void {
    this.#owned.die();
  }
}

/**
 * Frees buffers of arrays that nobody holds any more, also while synchronous code runs. Arrays in use have to be held
 * by the caller. `isUrgent` looks for them though little has been made since the last time.
 */
export function freeDropped(backend: BufferBackend, isUrgent: boolean = false): void {
  generationsOf(backend).lookIfDue(isUrgent);
}
