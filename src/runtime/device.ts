import { type DType, type HostArray, viewOf } from '../base/dtype.js';
import { reservedBytes } from '../codegen/wasm/index.js';
import { DeviceError } from '../base/errors.js';
import { Regions } from '../passes/memory.js';

const pageBytes = 65536;
/** Addresses are i32 and stay below the sign bit. */
const mostPages = 32768;

/**
 * The memory that compiled programs work on: one growable `WebAssembly.Memory`, divided into regions
 * that their owners give back (pinned storage, constants, tables) and one arena that running programs
 * share, since no two run at once.
 */
export class Device {
  readonly memory: WebAssembly.Memory;
  readonly #regions: Regions = new Regions(reservedBytes);
  #buffer: ArrayBuffer;
  #epoch = 0;
  #arena = -1;
  #arenaBytes = 0;

  constructor(options: { readonly maximumBytes?: number } = {}) {
    const maximum = Math.ceil((options.maximumBytes ?? mostPages * pageBytes) / pageBytes);
    this.memory = new WebAssembly.Memory({ initial: Math.min(16, maximum), maximum });
    this.#buffer = this.memory.buffer;
  }

  /** Changes whenever views on the memory or the address of the arena become stale. */
  get epoch(): number {
    return this.#epoch;
  }

  /** The memory's bytes; another object after the memory has grown. */
  get buffer(): ArrayBuffer {
    return this.#buffer;
  }

  view(dtype: DType, address: number, length: number): HostArray {
    return viewOf(dtype, this.#buffer, address, length);
  }

  /**
   * The address of a region of its own.
   * @throws DeviceError when the memory is exhausted; nothing is changed then.
   */
  take(bytes: number): number {
    const address = this.#regions.take(bytes);
    const missing = this.#regions.end - this.#buffer.byteLength;
    if (missing > 0) {
      try {
        this.#grow(missing);
      } catch (cause) {
        this.#regions.release(address);
        throw new DeviceError('the memory of the device is exhausted', {
          expected: `at most ${this.#buffer.byteLength} bytes, of which some are in use`,
          actual: `${bytes} more bytes`,
          advice: 'run smaller batches, or unpin what is not needed',
          cause,
        });
      }
    }
    return address;
  }

  release(address: number): void {
    this.#regions.release(address);
  }

  /**
   * The address of the shared arena, which holds at least `bytes` until the next call of `arena`; what
   * was in it may be lost.
   */
  arena(bytes: number): number {
    if (bytes <= this.#arenaBytes) return this.#arena;
    if (this.#arena >= 0) this.#regions.release(this.#arena);
    this.#arena = -1;
    this.#arenaBytes = 0;
    this.#epoch++;
    this.#arena = this.take(bytes);
    this.#arenaBytes = bytes;
    return this.#arena;
  }

  #grow(bytes: number): void {
    const wanted = Math.max(bytes, this.#buffer.byteLength / 4);
    try {
      this.memory.grow(Math.ceil(wanted / pageBytes));
    } catch {
      this.memory.grow(Math.ceil(bytes / pageBytes));
    }
    this.#buffer = this.memory.buffer;
    this.#epoch++;
  }
}

/** The device that programs run on unless told otherwise. */
export const cpu: Device = new Device();
