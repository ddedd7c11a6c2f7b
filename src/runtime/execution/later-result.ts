import type { DType } from '../../base/dtype.js';
import type { BufferBackend, DeviceBuffer } from '../memory/backend.js';
import { LaterPlace, notYetKnown } from '../memory/elsewhere.js';
import { Storage } from '../memory/storage.js';
import type { Operand } from './executable.js';

/** A result whose size only the data decides, on a device that has yet to answer. */
export class LaterResult implements Operand {
  readonly storage: Storage;
  readonly #place: LaterPlace;
  #shape: (() => readonly number[]) | null = null;
  #failure: { readonly error: unknown } | null = null;

  /** @param arrival Settled when `arrive` or `fail` has been called. It never rejects. */
  constructor(dtype: DType, backend: BufferBackend, arrival: Promise<unknown>) {
    this.#place = new LaterPlace(backend, arrival);
    this.storage = Storage.later(dtype, this.#place);
  }

  /** @throws DeviceError until it is known; whatever kept it from being computed. */
  get shape(): readonly number[] {
    if (this.#failure !== null) throw this.#failure.error;
    if (this.#shape === null) throw notYetKnown(this.#place.backend);
    return this.#shape();
  }

  /** @param shape Throws what went wrong, where that is known only later. */
  arrive(buffer: DeviceBuffer, shape: () => readonly number[]): void {
    this.#shape = shape;
    this.#place.arrive(buffer);
  }

  /** @param buffer Has no elements; reading it fails in the same way. */
  fail(buffer: DeviceBuffer, error: unknown): void {
    this.#failure = { error };
    this.#place.arrive(buffer);
  }
}
