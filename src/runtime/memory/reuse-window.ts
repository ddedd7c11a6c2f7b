/** Minimum window: moving less is not worth it. The first bucket of distances. */
const leastBytes = 2 ** 24;
/** Number of buckets of distances, each twice as far as the one before. */
const buckets = 16;
/** A distance is worth memory where uses from so far back are at least this fraction of incoming bytes. */
const leastShare = 1 / 16;
/** Observations are forgotten after twice as many incoming bytes, or as many windows. */
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
 * Reuse distance of arrays in device memory, in bytes that came in since their last use. An array that was
 * unused for longer is not part of the program's working set. Source of the idea: Denning, "The working set
 * model for program behavior", CACM 1968; here the window follows the uses of the present and the last
 * period, except for those so rare that bringing the elements in again costs less than keeping everything in
 * between.
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

  /** Window: an array that was not used while so many bytes came in may be evicted. */
  get bytes(): number {
    return leastBytes * 2 ** this.#bucket;
  }

  /** Records incoming bytes. */
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
   * Records a use of bytes that were last used at clock `usedAt`, whether they are still present or not. Uses
   * from farther back than `most` do not count, since no memory would reach so far.
   */
  use(usedAt: number, bytes: number, most: number): void {
    const distance = this.#clock - usedAt;
    if (distance <= leastBytes || distance > most) return;
    const bucket = Math.min(buckets - 1, Math.ceil(Math.log2(distance / leastBytes)));
    this.#present.used[bucket] += bytes;
    if (bucket > this.#bucket) this.#bucket = Math.max(this.#bucket, this.#worthwhile());
  }

  /** The farthest bucket from which, together with those beyond it, enough is used. */
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
