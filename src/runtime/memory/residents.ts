import { bytesOf, copyOfElements, type DType, type HostArray } from '../../base/dtype.js';
import { type Generation, Generations, type Mortal } from './generations.js';
import { type Linked, Recency } from './recency.js';
import { ReuseWindow } from './reuse-window.js';

/** Services of the device in whose memory residents are. */
export interface ResidentMemory {
  release(address: number): void;
  view(dtype: DType, address: number, length: number): HostArray;
}

/** Byte limit of results without a host copy while dead ones cannot be detected. */
const uninformedBytes = 2 ** 24;
/** Number of results that always stay: the operands of the next computation. */
const leastResults = 2;
/** Limit of evictions in one run, to bound its time. */
const mostAtOnce = 4;

/** The elements of one array in device memory, until they are evicted. */
export class Residence implements Linked<Residence>, Mortal {
  readonly residents: Residents;
  readonly dtype: DType;
  readonly length: number;
  /** True when the host has no copy. Only `Residents` changes it. */
  isOnly: boolean;
  /** -1 after eviction. */
  address: number;
  /** Elements moved to the host at eviction, if it had no copy. */
  saved: HostArray | null = null;
  /** The last run that used them. */
  run = 0;
  /** Time of the last use, by the clock of the `ReuseWindow`. */
  usedAt = 0;
  generation: Generation | null = null;
  before: Residence | null = null;
  after: Residence | null = null;

  constructor(
    residents: Residents,
    dtype: DType,
    length: number,
    address: number,
    isOnly: boolean,
  ) {
    this.residents = residents;
    this.dtype = dtype;
    this.length = length;
    this.address = address;
    this.isOnly = isOnly;
  }

  get bytes(): number {
    return bytesOf(this.dtype) * this.length;
  }

  die(): void {
    this.residents.remove(this);
  }

  /** The elements: a view that is valid until memory grows, or the saved ones. */
  get elements(): HostArray {
    return this.saved ?? this.residents.view(this);
  }

  /** A copy for the host, which has the elements from here on. */
  fetch(): HostArray {
    const elements = this.saved ?? copyOfElements(this.dtype, this.elements);
    this.saved = null;
    this.residents.copied(this);
    return elements;
  }
}

/** Held by the owner of a residence for as long as it needs the elements. */
export interface Claim {
  readonly residence: Residence;
  /** See `Generations`; null when the elements are on the host as well. */
  readonly witness: object | null;
}

/**
 * Cache of arrays in device memory besides pinned state: operands that programs read repeatedly, and results
 * that the host has not read. They share a byte budget; the least recently used are evicted. Nothing here
 * refers to a storage, so that the collector finds dead ones.
 */
export class Residents {
  readonly #memory: ResidentMemory;
  /** Results without a host copy, and arrays with one. */
  readonly #results: Recency<Residence> = new Recency();
  readonly #copies: Recency<Residence> = new Recency();
  readonly #generations: Generations;
  readonly #window: ReuseWindow = new ReuseWindow();
  #budget: number;
  #bytes = 0;
  #resultBytes = 0;
  #run = 0;
  #isRunning = false;

  constructor(memory: ResidentMemory, budget: number) {
    this.#memory = memory;
    this.#budget = budget;
    this.#generations = new Generations(budget);
  }

  /** Bytes in use. */
  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#results.count + this.#copies.count;
  }

  /** Byte budget between two runs. 0 for a device that keeps nothing. */
  get budget(): number {
    return this.#budget;
  }

  set budget(bytes: number) {
    this.#budget = bytes;
    this.#generations.budget = bytes;
    this.#settle();
  }

  view({ dtype, address, length }: Residence): HostArray {
    return this.#memory.view(dtype, address, length);
  }

  /** Starts a run: its residences stay until `end`. */
  begin(): void {
    this.#isRunning = true;
    this.#run++;
  }

  end(): void {
    this.#isRunning = false;
    this.#settle();
  }

  /** Adds a residence, until it is removed or evicted, or the claim is dropped. */
  add(residence: Residence): Claim {
    this.#window.advance(residence.bytes);
    this.#enter(residence);
    if (!residence.isOnly) return { residence, witness: null };
    this.#generations.lookIfDue();
    return { residence, witness: this.#generations.enroll(residence) };
  }

  /** Records a use by a run. */
  use(residence: Residence): void {
    residence.run = this.#run;
    this.#window.use(residence.usedAt, residence.bytes, this.#budget);
    residence.usedAt = this.#window.clock;
    this.#listOf(residence).use(residence);
  }

  /** Records that a run needs an evicted residence. */
  missed(residence: Residence): void {
    this.#window.use(residence.usedAt, residence.bytes, this.#budget);
  }

  /** Ends a residence whose elements are no longer needed. */
  remove(residence: Residence): void {
    const { address } = residence;
    if (address < 0) return;
    this.#leave(residence);
    residence.address = -1;
    this.#generations.leave(residence);
    this.#memory.release(address);
  }

  /** Records that the host has a copy from now on. */
  copied(residence: Residence): void {
    if (residence.address < 0 || !residence.isOnly) return;
    this.#leave(residence);
    residence.isOnly = false;
    this.#enter(residence);
  }

  /** Evicts the least recently used one. False if there is none to evict. */
  evict(): boolean {
    const [result, copy] = [this.#results.oldest, this.#copies.oldest];
    const isResult = copy === null || (result !== null && result.run < copy.run);
    return this.#evict(isResult ? result : copy);
  }

  #evict(residence: Residence | null): boolean {
    if (residence === null || (this.#isRunning && residence.run === this.#run)) return false;
    if (residence.isOnly) residence.saved = copyOfElements(residence.dtype, residence.elements);
    this.remove(residence);
    return true;
  }

  #listOf({ isOnly }: Residence): Recency<Residence> {
    return isOnly ? this.#results : this.#copies;
  }

  #enter(residence: Residence): void {
    residence.run = this.#run;
    residence.usedAt = this.#window.clock;
    this.#listOf(residence).add(residence);
    this.#bytes += residence.bytes;
    if (residence.isOnly) this.#resultBytes += residence.bytes;
  }

  #leave(residence: Residence): void {
    this.#listOf(residence).remove(residence);
    this.#bytes -= residence.bytes;
    if (residence.isOnly) this.#resultBytes -= residence.bytes;
  }

  #settle(): void {
    while (this.#bytes > this.#budget && this.evict());
    this.#evictUnused();
    // While dead results cannot be detected, it is better to keep few: they pass through the cache.
    if (this.#resultBytes <= uninformedBytes || this.#generations.isInformed) return;
    for (let i = 0; i < mostAtOnce && this.#resultBytes > uninformedBytes; i++) {
      if (this.#results.count <= leastResults || !this.#evict(this.#results.oldest)) return;
    }
  }

  /**
   * Evicts copies that were unused for longer than the reuse window. Results have no copy on the host: most
   * unused ones are dead, and the collector finds them at less cost than copying.
   */
  #evictUnused(): void {
    const since = this.#window.clock - this.#window.bytes;
    for (let copy = this.#copies.oldest; copy !== null; copy = this.#copies.oldest) {
      if (copy.usedAt >= since || !this.#evict(copy)) return;
    }
  }
}
