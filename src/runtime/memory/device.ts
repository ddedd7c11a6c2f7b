import { type DType, type HostArray, viewOf } from '../../base/dtype.js';
import { reservedBytes } from '../../codegen/wasm/index.js';
import { ArgumentError, DeviceError } from '../../base/errors.js';
import type { Division } from '../../passes/lower/nests/cost.js';
import { RegionAllocator } from '../../passes/plan/memory.js';
import { WorkerPool } from '../threads/pool.js';
import { Residents } from './residents.js';
import { grainSettings, threadsOfEnvironment, unsharedReason } from '../threads/settings.js';
import type { Spawn } from '../threads/spawn.js';

const pageBytes = 65536;
/** Addresses are i32 and stay below the sign bit. */
const mostPages = 32768;

const arenaStep = 2 ** 24;

/** What residents may take unless said, of the whole: they give way to whatever else needs memory. */
const residentPart = 1 / 2;

/**
 * The memory that compiled programs work on: one growable `WebAssembly.Memory`, divided into regions
 * that their owners give back (pinned storage, constants, tables), others that are taken from whoever used
 * them longest ago (`residents`), and one arena that running programs share, since no two run at once.
 */
export class Device {
  /** The elements of arrays that are here because they are used here. */
  readonly residents: Residents;
  readonly #regions: RegionAllocator = new RegionAllocator(reservedBytes);
  readonly #mostPages: number;
  #memory: WebAssembly.Memory | null = null;
  #buffer: ArrayBufferLike | null = null;
  #threads: number | (() => number);
  #pool: WorkerPool | null = null;
  readonly #grain: number | undefined;
  readonly #spawn: Spawn | undefined;
  /** How long a run may wait for its workers, in milliseconds; undefined for as long as is worth it. */
  readonly workerTimeout: number | undefined;
  #epoch = 0;
  #arena = -1;
  #arenaBytes = 0;
  #isScrambled = false;

  /**
   * Nothing is allocated before it is needed. `threads` is how many run programs together, at most; a
   * function is asked when that matters first. Default 1.
   */
  constructor(
    options: {
      readonly maximumBytes?: number;
      readonly threads?: number | (() => number);
      /** The instructions that are worth a thread of their own. */
      readonly grain?: number | undefined;
      readonly patience?: number | undefined;
      /** How threads are started. Default: as this platform does. */
      readonly spawn?: Spawn;
      /**
       * The bytes that arrays may take which are not pinned. Default: half of what there may be in all.
       */
      readonly residentBytes?: number;
    } = {},
  ) {
    const { maximumBytes = mostPages * pageBytes, threads = 1 } = options;
    const { residentBytes = maximumBytes * residentPart } = options;
    this.residents = new Residents(this, residentBytes);
    this.#grain = options.grain;
    this.#spawn = options.spawn;
    this.workerTimeout = options.patience;
    this.#mostPages = Math.min(Math.ceil(maximumBytes / pageBytes), mostPages);
    this.#threads = threads;
  }

  /** How many threads are wanted. */
  get wantedThreads(): number {
    if (typeof this.#threads === 'function') this.#threads = this.#threads();
    return this.#threads;
  }

  /**
   * Programs that are compiled from here on are for so many threads.
   * @throws ArgumentError for more than one when there is memory already that they could not share.
   */
  set wantedThreads(threads: number) {
    if (threads > 1 && this.#memory !== null && !this.isShared && unsharedReason() === null) {
      throw new ArgumentError('it is too late for more than one thread', {
        op: 'config.threads',
        expected: 'a number that is set before the first array is computed',
        actual: `${threads}, with memory that threads cannot share`,
        advice:
          'set config.threads first of all, or start with the environment variable KAON_THREADS',
      });
    }
    this.#threads = threads;
  }

  /** How many threads programs are compiled for: one where memory cannot be shared. */
  get threads(): number {
    const wanted = this.wantedThreads;
    if (wanted === 1) return 1;
    return (this.#memory === null ? unsharedReason() === null : this.isShared) ? wanted : 1;
  }

  /** Why there are fewer threads than were asked for, and what went wrong with them; null for nothing. */
  get threadNote(): string | null {
    const { wantedThreads, threads } = this;
    if (threads < wantedThreads) {
      return `one thread: ${unsharedReason() ?? 'the memory was made before more were asked for'}`;
    }
    return this.#pool === null || this.#pool.notes.length === 0
      ? null
      : this.#pool.notes.join('; ');
  }

  /** What programs are compiled for. */
  get division(): Division {
    return { threads: this.threads, grain: this.#grain };
  }

  /** The threads that run programs on this memory, which must be shared. */
  get pool(): WorkerPool {
    return (this.#pool ??= new WorkerPool(this, this.#spawn));
  }

  /** Whether the memory can be shared with other threads. */
  get isShared(): boolean {
    return typeof SharedArrayBuffer === 'function' && this.buffer instanceof SharedArrayBuffer;
  }

  /** @throws DeviceError when the engine gives no memory at all. */
  get memory(): WebAssembly.Memory {
    if (this.#memory !== null) return this.#memory;
    const initial = Math.min(16, this.#mostPages);
    const shared = this.threads > 1;
    try {
      this.#memory = new WebAssembly.Memory({ initial, maximum: this.#mostPages, shared });
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
  get buffer(): ArrayBufferLike {
    return (this.#buffer ??= this.memory.buffer);
  }

  view(dtype: DType, address: number, length: number): HostArray {
    return viewOf(dtype, this.buffer, address, length);
  }

  /**
   * The address of a region of its own. Where there is no room, residents have to go.
   * @throws DeviceError when the memory is exhausted; nothing else is changed then.
   */
  take(bytes: number): number {
    for (;;) {
      try {
        return this.#take(bytes);
      } catch (error) {
        if (!(error instanceof DeviceError) || !this.residents.evict()) throw error;
      }
    }
  }

  /** The address of a region for what a program computes. */
  takeForResult(bytes: number): number {
    const address = this.take(bytes);
    if (this.#isScrambled) this.#fill(address, bytes);
    return address;
  }

  #take(bytes: number): number {
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
    try {
      this.#arena = this.#take(generous);
      this.#arenaBytes = generous;
    } catch (error) {
      if (!(error instanceof DeviceError)) throw error;
      this.#arena = this.take(bytes);
      this.#arenaBytes = bytes;
    }
    if (this.#isScrambled) this.#fill(this.#arena, this.#arenaBytes);
    return this.#arena;
  }

  /** Runs on memory that is filled with what no program leaves there by intention. */
  scrambled<T>(run: () => T): T {
    if (this.#arena >= 0) this.#fill(this.#arena, this.#arenaBytes);
    this.#isScrambled = true;
    try {
      return run();
    } finally {
      this.#isScrambled = false;
    }
  }

  #fill(address: number, bytes: number): void {
    new Uint8Array(this.buffer, address, bytes).fill(0xff);
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
export const cpu: Device = new Device({ threads: threadsOfEnvironment, ...grainSettings() });
