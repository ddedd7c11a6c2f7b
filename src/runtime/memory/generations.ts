/** Bytes of results that share a witness: the fewer, the sooner a surviving array is alone. */
const generationBytes = 2 ** 23;

/** Number of references in stock: one for each generation of synchronous code. */
const stockSize = 2048;

/**
 * Number of consecutive looks without information after which dead results cannot be detected. Several are
 * usual between collections.
 */
const mostSilence = 32;

/**
 * Address space that is reported to the engine for so many bytes of results, since its collector does not see
 * device memory. Engines look for dead objects after a few hundred megabytes; twice the actual size is
 * reported, so that they look before the budget is full.
 */
const weighedBytes = 2 ** 26;
const ballastBytes = 2 * weighedBytes;

/** Results that were made consecutively. */
export interface Generation {
  readonly number: number;
  readonly members: Set<Mortal>;
  readonly witness: WeakRef<object>;
  bytes: number;
}

/** Memory of a result, which ends with it. */
export interface Mortal {
  readonly bytes: number;
  generation: Generation | null;
  /** Gives the memory back: nobody can request the result any more. */
  die(): void;
}

/** An unused object and a reference to it. */
interface Stocked {
  readonly object: object;
  readonly reference: WeakRef<object>;
}

/**
 * Detects dead results, also while synchronous code runs, in which finalizers do not.
 *
 * The owners of some results hold one object, the witness of their generation. Once the collector has taken
 * it, none of the results can be requested. A `WeakRef` shows that, but not before the code that created or
 * dereferenced the `WeakRef` has returned to the event loop: until then the language keeps its target alive.
 * So references are created in advance, for witnesses of later generations, and one is dereferenced only when
 * there has been a collection since its generation may have died: a canary, another reference to an
 * unreachable object, shows that. A generation that is queried too early is kept for now, which costs a copy
 * to the host and is never wrong.
 */
export class Generations {
  budget: number;
  /** Generations that may have died, oldest first. */
  readonly #closed: Set<Generation> = new Set();
  #current: Generation | null = null;
  /** The witness of the current one, alive as long as others may join. */
  #witness: object | null = null;
  #count = 0;
  readonly #stock: Stocked[] = [];
  /** Reference to an unreachable object: cleared if there was a collection since the last look. */
  #canary: WeakRef<object> | null = null;
  /** Number of generations at the last look, and at the one before. */
  #atLast = 0;
  #atSecondLast = 0;
  /** Number of looks since the last one with information. */
  #silence = mostSilence;
  #bytesSinceLook = 0;
  #bytesSinceBallast = 0;
  /** At most one buffer that is never read: only its size counts for the engine. */
  readonly #ballast: ArrayBuffer[] = [];
  /** For code that returns to the event loop. */
  readonly #ended: FinalizationRegistry<Generation>;

  constructor(budget: number) {
    this.budget = budget;
    this.#ended = new FinalizationRegistry((generation) => this.#end(generation));
    this.#fill();
  }

  /** True when dead results are being detected: not where code has never returned to the event loop. */
  get isInformed(): boolean {
    return this.#silence < mostSilence;
  }

  /** Bytes of results between two looks, and two reports to the engine: small budgets are full sooner. */
  get #interval(): number {
    return Math.min(weighedBytes, this.budget / 8);
  }

  /**
   * Ends dead results if enough has been made since the last time, or it is urgent. Results in use have to be held by
   * the caller.
   */
  lookIfDue(isUrgent: boolean = false): void {
    if (isUrgent || this.#bytesSinceLook >= this.#interval) this.#look();
  }

  /** Adds a result. Its owner must hold the returned witness. */
  enroll(result: Mortal): object {
    const { bytes } = result;
    this.#bytesSinceLook += bytes;
    let current = this.#current;
    if (current === null || current.bytes + bytes > generationBytes) current = this.#open();
    current.bytes += bytes;
    current.members.add(result);
    result.generation = current;
    return this.#witness!;
  }

  /** Removes a result that has ended otherwise. */
  leave(result: Mortal): void {
    const { generation } = result;
    if (generation === null) return;
    result.generation = null;
    generation.members.delete(result);
    if (generation.members.size === 0) this.#closed.delete(generation);
  }

  #open(): Generation {
    if (this.#current !== null && this.#current.members.size > 0) this.#closed.add(this.#current);
    const { object, reference } = this.#take();
    const generation = { number: this.#count++, members: new Set<Mortal>(), witness: reference, bytes: 0 }; // prettier-ignore
    this.#ended.register(object, generation);
    this.#witness = object;
    return (this.#current = generation);
  }

  /** Ends the generations whose witness is gone, as far as that can be known. */
  #look(): void {
    this.#weigh();
    const hasCollected = this.#canary !== null && this.#canary.deref() === undefined;
    this.#silence = hasCollected ? 0 : this.#silence + 1;
    if (hasCollected) {
      // A generation in use at the last look may have been in use at the collection.
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
    for (const member of generation.members) member.die();
  }

  /** Reports device memory to the engine, so that it looks for dead objects. */
  #weigh(): void {
    this.#bytesSinceBallast += this.#bytesSinceLook;
    if (this.#bytesSinceBallast < this.#interval) return;
    this.#bytesSinceBallast = 0;
    this.#ballast.length = 0;
    try {
      this.#ballast.push(new ArrayBuffer(ballastBytes));
    } catch {
      // Without spare address space the engine collects often anyway.
    }
  }

  /** A reference that was created some time ago, since the newest ones are still kept alive. */
  #take(): Stocked {
    const taken = this.#stock.shift()!;
    this.#fill();
    return taken;
  }

  #fill(): void {
    while (this.#stock.length < stockSize) {
      const object = {};
      this.#stock.push({ object, reference: new WeakRef(object) });
    }
  }
}
