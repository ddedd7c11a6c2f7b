import { type DType, type HostArray, viewOf } from '../base/dtype.js';
import { reservedBytes } from '../codegen/wasm/index.js';
import { DeviceError } from '../base/errors.js';
import { Regions } from '../passes/memory.js';

const pageBytes = 65536;
/** Addresses are i32 and stay below the sign bit. */
const mostPages = 32768;

const arenaStep = 2 ** 24;

/**
 * The memory that compiled programs work on: one growable `WebAssembly.Memory`, divided into regions
 * that their owners give back (pinned storage, constants, tables) and one arena that running programs
 * share, since no two run at once.
 */
export class Device {
  readonly #regions: Regions = new Regions(reservedBytes);
  readonly #mostPages: number;
  #memory: WebAssembly.Memory | null = null;
  #buffer: ArrayBuffer | null = null;
  #epoch = 0;
  #arena = -1;
  #arenaBytes = 0;

  /** Nothing is allocated before it is needed. */
  constructor(options: { readonly maximumBytes?: number } = {}) {
    const { maximumBytes = mostPages * pageBytes } = options;
    this.#mostPages = Math.min(Math.ceil(maximumBytes / pageBytes), mostPages);
  }

  /** @throws DeviceError when the engine gives no memory at all. */
  get memory(): WebAssembly.Memory {
    if (this.#memory !== null) return this.#memory;
    const initial = Math.min(16, this.#mostPages);
    try {
      this.#memory = new WebAssembly.Memory({ initial, maximum: this.#mostPages });
    } catch (cause) {
      throw new DeviceError('the engine gives no memory to the device', {
        expected: `an address range of ${this.#mostPages * pageBytes} bytes`,
        advice: 'make a Device with a smaller maximumBytes',
        cause,
      });
    }
    return this.#memory;
  }

  /** Changes whenever views on the memory or the address of the arena become stale. */
  get epoch(): number {
    return this.#epoch;
  }

  /** The memory's bytes; another object after the memory has grown. */
  get buffer(): ArrayBuffer {
    return (this.#buffer ??= this.memory.buffer);
  }

  view(dtype: DType, address: number, length: number): HostArray {
    return viewOf(dtype, this.buffer, address, length);
  }

  /**
   * The address of a region of its own.
   * @throws DeviceError when the memory is exhausted; nothing is changed then.
   */
  take(bytes: number): number {
    const address = this.#regions.take(bytes);
    const missing = this.#regions.end - this.buffer.byteLength;
    if (missing > 0) {
      try {
        this.#grow(missing);
      } catch (cause) {
        this.#regions.release(address);
        throw new DeviceError('the memory of the device is exhausted', {
          expected: `at most ${this.#mostPages * pageBytes} bytes in all; there are ${this.buffer.byteLength} so far`,
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
    // Growing by more than was asked for keeps programs of rising sizes from moving it at every turn.
    const generous = Math.max(
      bytes,
      pageBytes,
      Math.min(2 * this.#arenaBytes, this.#arenaBytes + arenaStep),
    );
    if (this.#arena >= 0) this.#regions.release(this.#arena);
    this.#arena = -1;
    this.#arenaBytes = 0;
    this.#epoch++;
    for (const size of new Set([generous, bytes])) {
      try {
        this.#arena = this.take(size);
        this.#arenaBytes = size;
        break;
      } catch (error) {
        if (size === bytes) throw error;
      }
    }
    return this.#arena;
  }

  /** Fills the arena with what no program leaves there by intention. */
  scramble(): void {
    if (this.#arena >= 0) new Uint8Array(this.buffer, this.#arena, this.#arenaBytes).fill(0xff);
  }

  #grow(bytes: number): void {
    const wanted = Math.max(bytes, this.buffer.byteLength / 4);
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
