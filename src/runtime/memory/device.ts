import { type DType, type HostArray, viewOf } from '../../base/dtype.js';
import { reservedBytes } from '../../codegen/wasm/index.js';
import { ArgumentError } from '../../base/errors.js';
import type { AddressScalar } from '../../loop/language/target.js';
import type { Division } from '../../ops/nests/cost.js';
import { RegionAllocator } from '../../passes/plan/memory.js';
import { WorkerPool } from '../threads/pool.js';
import { exhausted, ExhaustedError } from './exhausted.js';
import { FarMemory, isFar, type ProcessMemory } from './far.js';
import { type Addressing, addressingOfEnvironment, LinearMemory } from './linear.js';
import { Residents } from './residents.js';
import { grainSettings, threadsOfEnvironment, unsharedReason } from '../threads/settings.js';
import type { Spawn } from '../threads/spawn.js';

const leastArena = 2 ** 16;
const arenaStep = 2 ** 24;

/** Part of memory that residents may take by default: they give way to whatever else needs memory. */
const residentPart = 1 / 2;
const mostResidentBytes = 2 ** 30;

/**
 * The part of WebAssembly's memory that pinned storage may take where there is other memory for it: the rest is
 * for arenas, and for the operators that run on WebAssembly.
 */
const pinnedPart = 5 / 8;
/** Less than this is always pinned where all programs reach it. */
const leastFarBytes = 2 ** 20;

/**
 * The memory that compiled programs work on: one growable `WebAssembly.Memory`, divided into regions
 * that their owners give back (pinned storage, constants, tables), others that are taken from whoever used
 * them longest ago (`residents`), and one arena that running programs share, since no two run at once.
 * Native code reaches more: pinned storage and an arena of its own may lie in `FarMemory`, whose addresses are
 * beyond those of WebAssembly (`isFar`).
 */
export class Device {
  /** The elements of arrays that are here because they are used here. */
  readonly residents: Residents;
  readonly #regions: RegionAllocator = new RegionAllocator(reservedBytes);
  /** WebAssembly's memory. */
  readonly linear: LinearMemory;
  #threads: number | (() => number);
  #pool: WorkerPool | null = null;
  readonly #grain: number | undefined;
  readonly #spawn: Spawn | undefined;
  /**
   * Limit of the time that a run waits for its workers, in milliseconds; undefined for as long as is worth
   * it.
   */
  readonly workerTimeout: number | undefined;
  #epoch = 0;
  #arena = -1;
  #arenaBytes = 0;
  #isScrambled = false;
  /** The bytes of pinned regions in WebAssembly's memory, by address. */
  readonly #pinned: Map<number, number> = new Map();
  #pinnedBytes = 0;
  /** Memory beyond that of WebAssembly, or why there is none; asked when it is needed first. */
  #beyond: () => ProcessMemory | string;
  #far: FarMemory | string | null = null;
  #farArena = -1;
  #farArenaBytes = 0;

  /**
   * Nothing is allocated before it is needed. `threads` is how many run programs together, at most; a
   * function is asked when that matters first. Default 1.
   */
  constructor(
    options: {
      /** Default: as much as addresses reach, and the process may have. */
      readonly maximumBytes?: number;
      /** Addresses of WebAssembly's memory. Default: 32 bits. */
      readonly addressing?: Addressing;
      /** The bytes beyond which addresses need 64 bits. Default: 4 GiB. */
      readonly narrowBytes?: number;
      readonly threads?: number | (() => number);
      /** The instructions that are worth a thread of their own. */
      readonly grain?: number | undefined;
      readonly patience?: number | undefined;
      /** Start of threads. Default: as this platform does. */
      readonly spawn?: Spawn;
      /**
       * The bytes that arrays may take which are not pinned. Default: half of what there may be in all.
       */
      readonly residentBytes?: number;
      /** Access of native code to memory outside that of WebAssembly, or why there is none. Default: none. */
      readonly beyond?: () => ProcessMemory | string;
    } = {},
  ) {
    const { threads = 1 } = options;
    this.linear = new LinearMemory({ ...options, isShared: () => this.threads > 1 });
    const { residentBytes = Math.min(this.linear.capacity * residentPart, mostResidentBytes) } = options; // prettier-ignore
    this.#beyond = options.beyond ?? (() => 'there is none on this device');
    this.residents = new Residents(this, residentBytes);
    this.#grain = options.grain;
    this.#spawn = options.spawn;
    this.workerTimeout = options.patience;
    this.#threads = threads;
  }

  /** Number of threads that is wanted. */
  get wantedThreads(): number {
    if (typeof this.#threads === 'function') this.#threads = this.#threads();
    return this.#threads;
  }

  /**
   * Programs that are compiled from here on are for so many threads.
   * @throws ArgumentError for more than one when there is memory already that they could not share.
   */
  set wantedThreads(threads: number) {
    if (threads > 1 && this.linear.isMade && !this.isShared && unsharedReason() === null) {
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

  /** Number of threads that programs are compiled for: one where memory cannot be shared. */
  get threads(): number {
    const wanted = this.wantedThreads;
    if (wanted === 1) return 1;
    return (this.linear.isMade ? this.isShared : unsharedReason() === null) ? wanted : 1;
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

  /** Division of work that programs are compiled for. */
  get division(): Division {
    return { threads: this.threads, grain: this.#grain };
  }

  /** The threads that run programs on this memory, which must be shared. */
  get pool(): WorkerPool {
    return (this.#pool ??= new WorkerPool(this, this.#spawn));
  }

  /** True if the memory can be shared with other threads. */
  get isShared(): boolean {
    return this.linear.isShared;
  }

  /** @throws DeviceError when the engine gives no memory at all. */
  get memory(): WebAssembly.Memory {
    return this.linear.memory;
  }

  /** Changes whenever views on the memory or the address of the arena become stale. */
  get epoch(): number {
    return this.#epoch;
  }

  /** The memory's bytes; another object after the memory has grown. */
  get buffer(): ArrayBufferLike {
    return this.linear.buffer;
  }

  view(dtype: DType, address: number, length: number): HostArray {
    if (isFar(address)) return this.#farView(dtype, address, length);
    return viewOf(dtype, this.buffer, address, length);
  }

  /**
   * The address of a region of its own. Where there is no room, residents have to go.
   * @throws ExhaustedError when the memory is exhausted; nothing else is changed then.
   */
  take(bytes: number): number {
    for (;;) {
      try {
        return this.#take(bytes);
      } catch (error) {
        if (!(error instanceof ExhaustedError)) throw error;
        if (!this.residents.evict() && !this.#widen(bytes)) throw error;
      }
    }
  }

  /**
   * The address of a region for state that lives long: where all programs reach it, or where only native code
   * does once there is much of it.
   * @throws ExhaustedError when both are exhausted; nothing else is changed then.
   */
  takePinned(bytes: number): number {
    const isNear =
      bytes < leastFarBytes || this.#pinnedBytes + bytes <= this.linear.capacity * pinnedPart;
    const far = isNear ? null : this.#farMemory;
    if (far instanceof FarMemory) return far.take(bytes, this.buffer.byteLength);
    const address = this.take(bytes);
    this.#pinned.set(address, bytes);
    this.#pinnedBytes += bytes;
    return address;
  }

  /** True if memory for so many bytes could be made free for one run. */
  hasRoom(bytes: number): boolean {
    return bytes <= this.#freeOf(this.linear.capacity) || this.#mayWiden(bytes);
  }

  /** The distance of an address from the first byte of WebAssembly's memory, as native code sees it. */
  distanceOf(address: number): number {
    if (!isFar(address)) return address;
    return (this.#far as FarMemory).distance(address, this.buffer);
  }

  /** The bytes of its memory that are taken. */
  get bytesInUse(): number {
    return this.#regions.bytes;
  }

  /** The most bytes that there may be. */
  get mostBytes(): number {
    return Math.max(this.linear.capacity, this.linear.widened);
  }

  /** Type of addresses: code for others must not run any more. */
  get addresses(): AddressScalar {
    return this.linear.addresses;
  }

  /** Bytes of so many beside state that lives long. */
  #freeOf(all: number): number {
    return all - this.#regions.bytes + this.residents.bytes + Math.max(this.#arenaBytes, 0);
  }

  /** True if a memory of 64-bit addresses would have room for so many bytes. Native code does without one. */
  #mayWiden(bytes: number): boolean {
    return bytes <= this.#freeOf(this.linear.widened) && typeof this.#farMemory === 'string';
  }

  get #farMemory(): FarMemory | string {
    // Once the memory itself may be large there is no other.
    if (this.addresses === 'i64') return 'WebAssembly has addresses of 64 bits';
    if (this.#far === null) {
      const memory = this.#beyond();
      this.#far = typeof memory === 'string' ? memory : new FarMemory(memory);
    }
    return this.#far;
  }

  #farView(dtype: DType, address: number, length: number): HostArray {
    const far = this.#far as FarMemory;
    const inArena = address - this.#farArena;
    const isArena = this.#farArena >= 0 && inArena >= 0 && inArena < this.#farArenaBytes;
    return isArena
      ? far.view(dtype, this.#farArena, inArena, length)
      : far.view(dtype, address, 0, length);
  }

  /** Installs how native code reaches more memory, which is known above this floor. */
  set beyond(beyond: () => ProcessMemory | string) {
    this.#beyond = beyond;
    if (typeof this.#far === 'string') this.#far = null;
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
        const beyond = this.#farMemory;
        const more = typeof beyond === 'string' ? `: ${beyond}` : '';
        throw exhausted(bytes, {
          free: Math.max(0, this.linear.capacity - this.#regions.bytes),
          most: this.linear.capacity,
          advice: `run smaller batches, or unpin what is not needed; native code has all memory of the machine${more}`,
          cause,
        });
      }
    }
    return address;
  }

  release(address: number): void {
    if (isFar(address)) return (this.#far as FarMemory).release(address);
    const pinned = this.#pinned.get(address);
    if (pinned !== undefined) {
      this.#pinned.delete(address);
      this.#pinnedBytes -= pinned;
    }
    this.#regions.release(address);
  }

  /**
   * The address of an arena for native code, as `arena` gives it where there is room for that, else one that only
   * native code reaches.
   */
  arenaAnywhere(bytes: number): number {
    if (bytes <= this.#arenaBytes) return this.#arena;
    if (bytes > this.#farArenaBytes) {
      const far = this.hasRoom(bytes) ? null : this.#farMemory;
      if (!(far instanceof FarMemory)) return this.arena(bytes);
      if (this.#farArena >= 0) far.release(this.#farArena);
      this.#farArena = -1;
      this.#farArenaBytes = 0;
      this.#epoch++;
      this.#farArena = far.take(bytes, this.buffer.byteLength);
      this.#farArenaBytes = bytes;
    }
    return this.#farArena;
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
      leastArena,
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
      if (!(error instanceof ExhaustedError)) throw error;
      this.#arena = this.take(bytes);
      this.#arenaBytes = bytes;
    }
    if (this.#isScrambled) this.#fill(this.#arena, this.#arenaBytes);
    return this.#arena;
  }

  /** Runs on memory that is filled with what no program leaves there by intention. */
  scrambled<T>(run: () => T): T {
    if (this.#arena >= 0) this.#fill(this.#arena, this.#arenaBytes);
    if (this.#farArena >= 0)
      (this.view('uint8', this.#farArena, this.#farArenaBytes) as Uint8Array).fill(0xff);
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
    this.linear.grow(bytes);
    this.#epoch++;
  }

  /** Makes room for more bytes by addresses of 64 bits; false where that cannot be. */
  #widen(bytes: number): boolean {
    if (!this.#mayWiden(bytes) || !this.linear.widen(this.#regions.end)) return false;
    this.#epoch++;
    const pool = this.#pool;
    if (pool !== null) {
      // Its workers have the old memory; they end at the next turn of the event loop.
      this.#pool = null;
      void pool.close();
      this.#regions.release(pool.meetingAddress);
    }
    return true;
  }
}

/** The device that programs run on unless told otherwise. */
export const cpu: Device = new Device({
  threads: threadsOfEnvironment,
  addressing: addressingOfEnvironment(),
  ...grainSettings(),
});
