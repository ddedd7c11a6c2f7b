import { InternalError } from '../../base/errors.js';

/** Alignment of every region: a cache line, and more than any vector needs. */
export const alignment = 64;

function aligned(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

interface Region {
  offset: number;
  bytes: number;
}

/**
 * Allocator of regions in one linear memory. Best fit: the smallest free region that is large enough; when
 * there is none, the memory grows at its end. Neighboring free regions are coalesced, and a free region at
 * the end is given back.
 */
export class RegionAllocator {
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

  /** The first offset after all regions. */
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

  /** Allocates a region and returns its offset. Empty ones have distinct offsets, too. */
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

/** Live range of an allocation in steps of a schedule, both ends included. */
export interface LiveRange {
  readonly bytes: number;
  readonly first: number;
  readonly last: number;
}

export interface MemoryPlan {
  /** One offset for every live range, in order. */
  readonly offsets: readonly number[];
  readonly bytes: number;
}

/** Assigns offsets such that no two allocations that are live at the same step overlap. */
export function planMemory(lifetimes: readonly LiveRange[]): MemoryPlan {
  const regions = new RegionAllocator();
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
