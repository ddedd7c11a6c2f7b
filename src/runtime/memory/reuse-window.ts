/** Kept in any case: less than this is not worth moving. The first bucket of distances. */
const leastBytes = 2 ** 24;
/** Buckets of distances, each twice as far as the one before. */
const buckets = 16;
/** A distance is worth memory where uses from so far back are at least this share of the bytes that come in. */
const leastShare = 1 / 16;
/** What was observed is forgotten after twice as many bytes as this have come in, or as many windows. */
const periodBytes = 2 ** 28;
const periodWindows = 4;

/** Uses of one period. */
interface Period {
  /** Bytes used again, by distance. */
  readonly used: Float64Array;
  entered: number;
}

const emptyPeriod = (): Period => ({ used: new Float64Array(buckets), entered: 0 });

/**
 * How far back arrays in the memory of a device are used again, in bytes that came in since their last use.
 * What has not been used for longer is not part of the working set of the program and need not be kept.
 * Source of the idea: Denning, "The working set model for program behavior", CACM 1968; here the window follows
 * the uses of the present and the last period, except for those so rare that bringing the elements in again
 * costs less than keeping everything in between.
 */
export class ReuseWindow {
  /** Bytes that have come in so far: the clock. */
  #clock = 0;
  #periodEnd = periodBytes;
  #present: Period = emptyPeriod();
  #last: Period = emptyPeriod();
  /** The farthest bucket that is worth its memory. */
  #bucket = 0;

  /** The bytes that have come in so far. */
  get clock(): number {
    return this.#clock;
  }

  /** An array that was not used while so many bytes came in may go. */
  get bytes(): number {
    return leastBytes * 2 ** this.#bucket;
  }

  /** Notes that so many bytes have come in. */
  advance(bytes: number): void {
    this.#clock += bytes;
    this.#present.entered += bytes;
    if (this.#clock < this.#periodEnd) return;
    this.#last = this.#present;
    this.#present = emptyPeriod();
    this.#bucket = this.#worthwhile();
    this.#periodEnd = this.#clock + Math.max(periodBytes, periodWindows * this.bytes);
  }

  /**
   * Notes a use of so many bytes that were used last when the clock stood at `usedAt`, whether they are still
   * there or not. Uses from farther back than `most` do not count, since no memory would reach so far.
   */
  use(usedAt: number, bytes: number, most: number): void {
    const distance = this.#clock - usedAt;
    if (distance <= leastBytes || distance > most) return;
    const bucket = Math.min(buckets - 1, Math.ceil(Math.log2(distance / leastBytes)));
    this.#present.used[bucket] += bytes;
    if (bucket > this.#bucket) this.#bucket = Math.max(this.#bucket, this.#worthwhile());
  }

  /** The farthest bucket from which, with those beyond it, enough is used. */
  #worthwhile(): number {
    const enough = leastShare * Math.max(this.#present.entered + this.#last.entered, leastBytes);
    let used = 0;
    for (let bucket = buckets - 1; bucket > 0; bucket--) {
      used += this.#present.used[bucket] + this.#last.used[bucket];
      if (used >= enough) return bucket;
    }
    return 0;
  }
}
