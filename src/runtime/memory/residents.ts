import { allocate, bytesOf, copyElements, type DType, type HostArray } from '../../base/dtype.js';
import { type Generation, Generations } from './generations.js';
import { type Linked, Recency } from './recency.js';
import { ReuseWindow } from './reuse-window.js';

/** What residents need of the device in whose memory they lie. */
export interface ResidentMemory {
  release(address: number): void;
  view(dtype: DType, address: number, length: number): HostArray;
}

/** Results that nobody has on the host may take so much while nothing is known of the dead ones. */
const uninformedBytes = 2 ** 24;
/** How many results stay in any case: the operands of what is computed next. */
const leastResults = 2;
/** No run has to make room for more than that, lest one of them takes very long. */
const mostAtOnce = 4;

/** The elements of one array in the memory of a device. There until they have to make room for others. */
export class Residence implements Linked<Residence> {
  readonly residents: Residents;
  readonly dtype: DType;
  readonly length: number;
  /** Whether the host does not have these elements. Only `Residents` changes it. */
  isOnly: boolean;
  /** -1 once they are gone. */
  address: number;
  /** What was moved to the host when they went, if it did not have them. */
  saved: HostArray | null = null;
  /** The last run that used them. */
  run = 0;
  /** When they were used last, by the clock of the `ReuseWindow`. */
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

  /** The elements where they are: a view that lasts until memory grows, or what was saved. */
  get elements(): HostArray {
    return this.saved ?? this.residents.view(this);
  }

  /** A copy for the host, which has the elements from here on. */
  fetch(): HostArray {
    const elements = this.saved ?? copyOf(this.dtype, this.elements);
    this.saved = null;
    this.residents.copied(this);
    return elements;
  }
}

/** What the owner of a residence holds for as long as it wants the elements. */
export interface Claim {
  readonly residence: Residence;
  /** See `Generations`; null where the elements are on the host as well. */
  readonly witness: object | null;
}

/**
 * What lies in the memory of a device beside pinned state: operands that programs read again and again, and
 * results that nobody has asked for on the host. Together they keep to a budget; those that were used last
 * stay. Nothing here refers to a storage, so that what nobody holds is found by the collector.
 */
export class Residents {
  readonly #memory: ResidentMemory;
  /** Results that only the device has, and what the host has as well. */
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
    this.#generations = new Generations(budget, (residence) => this.remove(residence));
  }

  /** The bytes that they take now. */
  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#results.count + this.#copies.count;
  }

  /** The bytes that they may take between two runs. None for a device on which nothing is to stay. */
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

  /** Starts a run: what it uses stays until `end`, whatever else needs memory. */
  begin(): void {
    this.#isRunning = true;
    this.#run++;
  }

  end(): void {
    this.#isRunning = false;
    this.#settle();
  }

  /** Takes a residence in, until it is removed or has to go, or nobody holds the claim any more. */
  add(residence: Residence): Claim {
    this.#window.advance(residence.bytes);
    this.#enter(residence);
    const witness = residence.isOnly ? this.#generations.enroll(residence) : null;
    return { residence, witness };
  }

  /** Notes that a run uses it. */
  use(residence: Residence): void {
    residence.run = this.#run;
    this.#window.use(residence.usedAt, residence.bytes, this.#budget);
    residence.usedAt = this.#window.clock;
    this.#listOf(residence).use(residence);
  }

  /** Notes that a run needs the elements of a residence that has had to go. */
  missed(residence: Residence): void {
    this.#window.use(residence.usedAt, residence.bytes, this.#budget);
  }

  /** Ends a residence whose elements nobody needs any more. */
  remove(residence: Residence): void {
    const { address } = residence;
    if (address < 0) return;
    this.#leave(residence);
    residence.address = -1;
    this.#generations.leave(residence);
    this.#memory.release(address);
  }

  /** Notes that the host has the elements from now on. */
  copied(residence: Residence): void {
    if (residence.address < 0 || !residence.isOnly) return;
    this.#leave(residence);
    residence.isOnly = false;
    this.#enter(residence);
  }

  /** Makes the one go that was used longest ago. False if there is none that can go. */
  evict(): boolean {
    const [result, copy] = [this.#results.oldest, this.#copies.oldest];
    const isResult = copy === null || (result !== null && result.run < copy.run);
    return this.#evict(isResult ? result : copy);
  }

  #evict(residence: Residence | null): boolean {
    if (residence === null || (this.#isRunning && residence.run === this.#run)) return false;
    if (residence.isOnly) residence.saved = copyOf(residence.dtype, residence.elements);
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
    // Of results that are dead without anybody knowing, it is better to keep few: they pass through the cache.
    if (this.#resultBytes <= uninformedBytes || this.#generations.isInformed) return;
    for (let i = 0; i < mostAtOnce && this.#resultBytes > uninformedBytes; i++) {
      if (this.#results.count <= leastResults || !this.#evict(this.#results.oldest)) return;
    }
  }

  /**
   * Makes go copies that were not used for longer than anything that was used of late. Results have no copy on
   * the host: most that nobody uses are dead, and the collector finds them for less than copying them costs.
   */
  #evictUnused(): void {
    const since = this.#window.clock - this.#window.bytes;
    for (let copy = this.#copies.oldest; copy !== null; copy = this.#copies.oldest) {
      if (copy.usedAt >= since || !this.#evict(copy)) return;
    }
  }
}

/** @throws DeviceError when the engine has no room. */
function copyOf(dtype: DType, elements: HostArray): HostArray {
  const copy = allocate(dtype, elements.length);
  copyElements(copy, elements);
  return copy;
}
