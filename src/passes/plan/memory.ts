import { InternalError } from '../../base/errors.js';

/** Every region starts at a multiple of this: a cache line, and more than any vector needs. */
export const alignment = 64;

function aligned(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

interface Region {
  offset: number;
  bytes: number;
}

/**
 * Regions of one linear memory. Best fit: the smallest free region that is large enough; when there is
 * none, the memory is extended at its end. Neighboring free regions are joined, and a free region at
 * the end is given back.
 */
export class Regions {
  /** Ascending by offset, never adjacent. */
  readonly #free: Region[] = [];
  readonly #taken: Map<number, number> = new Map();
  #end: number;
  #bytes = 0;
  #peak: number;

  constructor(start: number = 0) {
    this.#end = start;
    this.#peak = start;
  }

  /** The first offset behind all regions. */
  get end(): number {
    return this.#end;
  }

  /** The bytes of all regions that are taken. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The greatest `end` there ever was. */
  get peak(): number {
    return this.#peak;
  }

  /** The offset of a new region. Empty ones take a place too, so that offsets are distinct. */
  take(bytes: number): number {
    const wanted = Math.max(aligned(bytes), alignment);
    let best = -1;
    for (let i = 0; i < this.#free.length; i++) {
      const size = this.#free[i].bytes;
      if (size >= wanted && (best < 0 || size < this.#free[best].bytes)) best = i;
    }
    const offset = best < 0 ? this.#end : this.#carve(best, wanted);
    this.#end = Math.max(this.#end, offset + wanted);
    this.#peak = Math.max(this.#peak, this.#end);
    this.#taken.set(offset, wanted);
    this.#bytes += wanted;
    return offset;
  }

  release(offset: number): void {
    const bytes = this.#taken.get(offset);
    if (bytes === undefined) throw new InternalError(`no region starts at ${offset}`);
    this.#taken.delete(offset);
    this.#bytes -= bytes;
    const at = this.#firstAbove(offset);
    const before = this.#free[at - 1];
    const after = this.#free[at];
    const joinsBefore = before !== undefined && before.offset + before.bytes === offset;
    const joinsAfter = after !== undefined && offset + bytes === after.offset;
    if (joinsBefore) {
      before.bytes += bytes + (joinsAfter ? after.bytes : 0);
      if (joinsAfter) this.#free.splice(at, 1);
    } else if (joinsAfter) {
      after.offset = offset;
      after.bytes += bytes;
    } else this.#free.splice(at, 0, { offset, bytes });
    const last = this.#free[this.#free.length - 1];
    if (last.offset + last.bytes === this.#end) {
      this.#free.pop();
      this.#end = last.offset;
    }
  }

  #carve(at: number, wanted: number): number {
    const region = this.#free[at];
    const { offset } = region;
    if (region.bytes === wanted) this.#free.splice(at, 1);
    else {
      region.offset += wanted;
      region.bytes -= wanted;
    }
    return offset;
  }

  #firstAbove(offset: number): number {
    let low = 0;
    let high = this.#free.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#free[middle].offset < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Something that must lie in memory from one step of a schedule to another, both included. */
export interface Lifetime {
  readonly bytes: number;
  readonly first: number;
  readonly last: number;
}

export interface MemoryPlan {
  /** One offset for every lifetime, in order. */
  readonly offsets: readonly number[];
  readonly bytes: number;
}

/** Offsets such that no two things that live at the same step overlap. */
export function planMemory(lifetimes: readonly Lifetime[]): MemoryPlan {
  const regions = new Regions();
  const offsets: number[] = [];
  const byFirst = lifetimes
    .map((_, i) => i)
    .sort((a, b) => lifetimes[a].first - lifetimes[b].first);
  const byLast = lifetimes.map((_, i) => i).sort((a, b) => lifetimes[a].last - lifetimes[b].last);
  let dying = 0;
  for (const i of byFirst) {
    const { first, bytes } = lifetimes[i];
    while (lifetimes[byLast[dying]].last < first) regions.release(offsets[byLast[dying++]]);
    offsets[i] = regions.take(bytes);
  }
  return { offsets, bytes: regions.peak };
}
