/** Memory that a step of `main` reads or writes. */
export interface Touch {
  /** Null for memory that nothing but the step knows. */
  readonly place: number | null;
  readonly writes: boolean;
  /** Whether all threads of the team touch it, or only the first. */
  readonly everyone: boolean;
  /** The step of the schedule that does it. */
  readonly step: number;
}

/** Who has touched a place, and how. */
interface Touched {
  read: boolean;
  written: boolean;
  readByAll: boolean;
  writtenByAll: boolean;
}

/**
 * What the threads of a team have touched since they last met. Two touches need a barrier between them
 * when they may be of different threads and of the same memory, and one of them writes. Places whose
 * lifetimes do not overlap may be the same memory, as may an output and an operand that nobody reads
 * any more: so nothing is written while what was needed before it may still be in use.
 */
export class Hazards {
  readonly #lastStepOf: (place: number) => number;
  readonly #touched: Map<number, Touched> = new Map();
  /** The first step at which something that was touched is no longer needed, of any thread and of all. */
  #ends = Infinity;
  #endsForAll = Infinity;

  constructor(lastStepOf: (place: number) => number) {
    this.#lastStepOf = lastStepOf;
  }

  get isEmpty(): boolean {
    return this.#ends === Infinity;
  }

  /** Whether the threads must meet before these touches. */
  forbid(touches: readonly Touch[]): boolean {
    return touches.some(({ place, writes, everyone, step }) => {
      if (writes && (everyone ? this.#ends : this.#endsForAll) < step) return true;
      const known = place === null ? undefined : this.#touched.get(place);
      if (known === undefined) return false;
      if (everyone) return known.written || (writes && known.read);
      return known.writtenByAll || (writes && known.readByAll);
    });
  }

  add(touches: readonly Touch[]): void {
    for (const { place, writes, everyone, step } of touches) {
      const last = place === null ? step : this.#lastStepOf(place);
      this.#ends = Math.min(this.#ends, last);
      if (everyone) this.#endsForAll = Math.min(this.#endsForAll, last);
      if (place === null) continue;
      this.#merge(place, {
        read: !writes,
        written: writes,
        readByAll: !writes && everyone,
        writtenByAll: writes && everyone,
      });
    }
  }

  /** The threads have met. */
  clear(): void {
    this.#touched.clear();
    this.#ends = Infinity;
    this.#endsForAll = Infinity;
  }

  copy(): Hazards {
    const copy = new Hazards(this.#lastStepOf);
    copy.join(this);
    return copy;
  }

  /** What either has touched, as after two branches. */
  join(other: Hazards): void {
    for (const [place, touched] of other.#touched) this.#merge(place, touched);
    this.#ends = Math.min(this.#ends, other.#ends);
    this.#endsForAll = Math.min(this.#endsForAll, other.#endsForAll);
  }

  #merge(place: number, more: Touched): void {
    const known = this.#touched.get(place);
    if (known === undefined) {
      this.#touched.set(place, { ...more });
      return;
    }
    known.read ||= more.read;
    known.written ||= more.written;
    known.readByAll ||= more.readByAll;
    known.writtenByAll ||= more.writtenByAll;
  }
}
