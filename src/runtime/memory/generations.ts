import type { Residence } from './residents.js';

/** The bytes of results that share a witness: the fewer, the sooner one array that lives on is alone. */
const generationBytes = 2 ** 23;

/** References that are kept in stock: for so many generations a synchronous piece of code. */
const stockSize = 2048;

/** After so many looks that tell nothing, there is nothing to be told. Several are usual between collections. */
const mostSilence = 32;

/**
 * Address space that the engine is told of for so many bytes of results, since its collector does not see the
 * memory of devices. Engines look for dead objects after some hundreds of megabytes; twice as much is told
 * as there is, so that they look before the budget is full.
 */
const weighedBytes = 2 ** 26;
const ballastBytes = 2 * weighedBytes;

/** Results that were made one after the other. */
export interface Generation {
  readonly number: number;
  readonly members: Set<Residence>;
  readonly witness: WeakRef<object>;
  bytes: number;
}

/** An object nobody has seen yet, and a reference to it. */
interface Stocked {
  readonly object: object;
  readonly reference: WeakRef<object>;
}

/**
 * Finds results that nobody holds any more, also while synchronous code runs, in which finalizers do not.
 *
 * The owners of some results hold one object, the witness of their generation. When the collector has taken
 * it, nobody can ask for any of them. A `WeakRef` tells that, but not before the code that made the `WeakRef`
 * or asked it has gone back to the event loop: until then the language keeps what it refers to. So
 * references are made in advance, for witnesses of later generations, and one is asked only when there has
 * been a collection since its generation may have come to rest: another reference, to what nobody holds,
 * tells that. What is asked too early is kept for now, which costs a copy to the host and is never wrong.
 */
export class Generations {
  budget: number;
  readonly #discard: (residence: Residence) => void;
  /** Those that may end, oldest first. */
  readonly #closed: Set<Generation> = new Set();
  #current: Generation | null = null;
  /** The witness of the current one, which lives for as long as others may join. */
  #witness: object | null = null;
  #count = 0;
  readonly #stock: Stocked[] = [];
  /** To what nobody holds: it is gone if there was a collection since the last look. */
  #canary: WeakRef<object> | null = null;
  /** How many generations there were at the last look, and at the one before. */
  #atLast = 0;
  #atSecondLast = 0;
  /** How many looks there were since one that has told something. */
  #silence = mostSilence;
  #bytesSinceLook = 0;
  #bytesSinceBallast = 0;
  /** At most one. Nobody reads it: the engine is to count it. */
  readonly #ballast: ArrayBuffer[] = [];
  /** For code that does go back to the event loop. */
  readonly #ended: FinalizationRegistry<Generation>;

  constructor(budget: number, discard: (residence: Residence) => void) {
    this.budget = budget;
    this.#discard = discard;
    this.#ended = new FinalizationRegistry((generation) => this.#end(generation));
  }

  /** Whether dead results are being found: not where code has never gone back to the event loop. */
  get isInformed(): boolean {
    return this.#silence < mostSilence;
  }

  /** Counts a result in. Its owner must hold the witness that is given back. */
  enroll(residence: Residence): object {
    const { bytes } = residence;
    this.#bytesSinceLook += bytes;
    if (this.#bytesSinceLook >= Math.min(weighedBytes, this.budget / 8)) this.#look();
    let current = this.#current;
    if (current === null || current.bytes + bytes > generationBytes) current = this.#open();
    current.bytes += bytes;
    current.members.add(residence);
    residence.generation = current;
    return this.#witness!;
  }

  /** Strikes one off that has ended otherwise. */
  leave(residence: Residence): void {
    const { generation } = residence;
    if (generation === null) return;
    residence.generation = null;
    generation.members.delete(residence);
    if (generation.members.size === 0) this.#closed.delete(generation);
  }

  #open(): Generation {
    if (this.#current !== null && this.#current.members.size > 0) this.#closed.add(this.#current);
    const { object, reference } = this.#take();
    const generation = { number: this.#count++, members: new Set<Residence>(), witness: reference, bytes: 0 }; // prettier-ignore
    this.#ended.register(object, generation);
    this.#witness = object;
    return (this.#current = generation);
  }

  /** Ends the generations that have no witness any more, as far as that can be known. */
  #look(): void {
    this.#weigh();
    const hasCollected = this.#canary !== null && this.#canary.deref() === undefined;
    this.#silence = hasCollected ? 0 : this.#silence + 1;
    if (hasCollected) {
      // What was in use at the last look may have been in use at the collection.
      for (const generation of this.#closed) {
        if (generation.number >= this.#atSecondLast) break;
        if (generation.witness.deref() === undefined) this.#end(generation);
      }
    }
    this.#canary = this.#take().reference;
    this.#atSecondLast = this.#atLast;
    this.#atLast = this.#count;
    this.#bytesSinceLook = 0;
  }

  #end(generation: Generation): void {
    this.#closed.delete(generation);
    for (const residence of generation.members) this.#discard(residence);
  }

  /** Lets the engine know that objects hold memory which it does not see, so that it looks for dead ones. */
  #weigh(): void {
    this.#bytesSinceBallast += this.#bytesSinceLook;
    if (this.#bytesSinceBallast < weighedBytes) return;
    this.#bytesSinceBallast = 0;
    this.#ballast.length = 0;
    try {
      this.#ballast.push(new ArrayBuffer(ballastBytes));
    } catch {
      // Where there is no address space to spare, the engine has reasons enough to collect.
    }
  }

  /** A reference that was made some time ago, since the newest ones tell nothing yet. */
  #take(): Stocked {
    const taken = this.#stock.shift();
    while (this.#stock.length < stockSize) {
      const object = {};
      this.#stock.push({ object, reference: new WeakRef(object) });
    }
    return taken ?? this.#take();
  }
}
