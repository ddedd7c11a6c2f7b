/** A memory access of a step of `main`. */
export interface Touch {
  /** Null for memory private to the step. */
  readonly place: number | null;
  readonly writes: boolean;
  /** True when all threads of the team access it, false for the first only. */
  readonly everyone: boolean;
  /** The step of the schedule that accesses it. */
  readonly step: number;
}

/** Accesses to a buffer since the last barrier. */
interface Touched {
  read: boolean;
  written: boolean;
  readByAll: boolean;
  writtenByAll: boolean;
}

/**
 * Accesses of a team's threads since their last barrier. Two accesses need a barrier between them when they
 * may be by different threads to the same memory, and one of them writes. Buffers whose live ranges do not
 * overlap may share memory, as may an output and a dead operand: so nothing is written while memory that was
 * needed before may still be in use.
 */
export class Hazards {
  readonly #lastStepOf: (place: number) => number;
  readonly #touched: Map<number, Touched> = new Map();
  /** The first step at which an accessed buffer is dead, for any thread and for all. */
  #ends = Infinity;
  #endsForAll = Infinity;

  constructor(lastStepOf: (place: number) => number) {
    this.#lastStepOf = lastStepOf;
  }

  get isEmpty(): boolean {
    return this.#ends === Infinity;
  }

  /** True when a barrier is needed before these accesses. */
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

  /** Forgets all accesses, after a barrier. */
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

  /** Merges the accesses of both sides, as after two branches. */
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
