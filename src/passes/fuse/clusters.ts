import type { Program, Value } from '../../ir/program.js';
import { isNumber } from '../groups/places.js';
import { viewed } from '../rewrite/views.js';
import type { Draft } from './inline.js';

/** Clusters that a search for a path between two groups visits before the merge is given up. */
const searchLimit = 2000;

/** A group while groups are merged: what it computes, and what of that goes through memory. */
export interface Cluster {
  readonly draft: Draft;
  readonly reads: ReadonlySet<Value>;
  readonly writes: ReadonlySet<Value>;
  readonly beside: ReadonlySet<Value>;
  /** Values that are read inside only, and therefore are not written. */
  readonly kept: ReadonlySet<Value>;
  /** A topological number: what a cluster reads is written by clusters of lower numbers. */
  order: number;
}

/** Dependence graph of the clusters of a program, which are numbered in a valid execution order. */
export class Clusters {
  readonly #all: Set<Cluster> = new Set();
  readonly #writer: Map<Value, Cluster> = new Map();
  readonly #readers: Map<Value, Set<Cluster>> = new Map();

  /** One cluster for each draft. */
  constructor(program: Program, drafts: readonly Draft[]) {
    for (const draft of drafts) this.put(clusterOf(program, draft));
  }

  /** A snapshot, in the order in which they were put. */
  all(): Cluster[] {
    return [...this.#all];
  }

  /** False once it has been merged into another. */
  has(cluster: Cluster): boolean {
    return this.#all.has(cluster);
  }

  /** True when a cluster reads a value. */
  isRead(value: Value): boolean {
    return (this.#readers.get(value)?.size ?? 0) > 0;
  }

  /** A snapshot of the values that are read, with the clusters that read them. */
  readers(): readonly (readonly [Value, readonly Cluster[]])[] {
    return Array.from(this.#readers, ([value, readers]) => [value, [...readers]]);
  }

  put(cluster: Cluster): void {
    this.#all.add(cluster);
    for (const value of cluster.writes) this.#writer.set(value, cluster);
    for (const value of cluster.reads) {
      let readers = this.#readers.get(value);
      if (readers === undefined) this.#readers.set(value, (readers = new Set()));
      readers.add(cluster);
    }
  }

  /** The clusters that write what a cluster reads, the latest first. */
  producers(cluster: Cluster): readonly Cluster[] {
    const producers = [...this.#writers(cluster)];
    return producers.length < 2 ? producers : producers.sort((a, b) => b.order - a.order);
  }

  #writers({ reads }: Cluster): Set<Cluster> {
    const found = new Set<Cluster>();
    for (const value of reads) {
      const writer = this.#writer.get(value);
      if (writer !== undefined) found.add(writer);
    }
    return found;
  }

  /** True when another cluster must run between two clusters, or when that is too costly to know. */
  hasDetour(from: Cluster, into: Cluster): boolean {
    if (!this.#hasOtherReaders(from, into)) return false;
    const goals = this.#writers(into);
    // What comes later has higher numbers, and a detour ends in one of these.
    let last = -1;
    for (const { order } of goals) last = Math.max(last, order);
    if (last <= from.order) return false;
    const found = new Set<Cluster>();
    const isEnough = (next: Cluster): boolean => goals.has(next) || found.size > searchLimit;
    return this.#collectBehind(from, last, found, isEnough);
  }

  #hasOtherReaders({ writes }: Cluster, reader: Cluster): boolean {
    for (const value of writes) {
      for (const other of this.#readers.get(value) ?? []) if (other !== reader) return true;
    }
    return false;
  }

  /** Finds the clusters up to a number that need what one has written. True when it ended at one that is enough. */
  #collectBehind(
    from: Cluster,
    last: number,
    found: Set<Cluster>,
    isEnough?: (next: Cluster) => boolean,
  ): boolean {
    const open = [from];
    for (let cluster = open.pop(); cluster !== undefined; cluster = open.pop()) {
      for (const value of cluster.writes) {
        const readers = this.#readers.get(value);
        if (readers === undefined) continue;
        for (const next of readers) {
          if (next.order > last || found.has(next)) continue;
          found.add(next);
          if (isEnough?.(next) === true) return true;
          open.push(next);
        }
      }
    }
    return false;
  }

  /** The clusters from a number on that one needs. */
  #before(into: Cluster, first: number): Set<Cluster> {
    const found = new Set<Cluster>();
    const open = [into];
    for (let cluster = open.pop(); cluster !== undefined; cluster = open.pop()) {
      for (const value of cluster.reads) {
        const writer = this.#writer.get(value);
        if (writer === undefined || writer.order < first || found.has(writer)) continue;
        found.add(writer);
        open.push(writer);
      }
    }
    return found;
  }

  /**
   * The number of the cluster that two become. What lies between them is renumbered: all that the later
   * one needs goes before, all that needs the earlier one goes behind (Pearce and Kelly, A dynamic
   * topological sort algorithm for directed acyclic graphs, 2006).
   */
  #joinOrder(from: Cluster, into: Cluster): number {
    // Most merges are of neighbors, between which nothing has to move.
    const before = this.#before(into, from.order + 1);
    if (before.size === 0) return from.order;
    const behind = new Set<Cluster>();
    this.#collectBehind(from, into.order - 1, behind);
    if (behind.size === 0) return into.order;
    const byOrder = (a: Cluster, b: Cluster): number => a.order - b.order;
    const first = [...before].sort(byOrder);
    const last = [...behind].sort(byOrder);
    const numbers = [from, into, ...first, ...last].map(({ order }) => order).sort((a, b) => a - b);
    first.forEach((cluster, i) => (cluster.order = numbers[i]));
    last.forEach((cluster, i) => (cluster.order = numbers[numbers.length - last.length + i]));
    return numbers[first.length];
  }

  /**
   * Takes out two clusters, of which the second reads the first or neither needs the other, and gives
   * the number of what takes their place.
   */
  takeOut(from: Cluster, into: Cluster): number {
    const order = this.#joinOrder(from, into);
    for (const cluster of [from, into]) {
      this.#all.delete(cluster);
      for (const value of cluster.reads) this.#readers.get(value)?.delete(cluster);
    }
    return order;
  }

  /** True when one cluster depends on the other, directly or through others. */
  depends(from: Cluster, into: Cluster): boolean {
    for (const value of into.reads) if (from.writes.has(value)) return true;
    return this.hasDetour(from, into);
  }
}

function clusterOf(program: Program, draft: Draft): Cluster {
  const reads = new Set<Value>();
  for (const id of draft.members) {
    for (const operand of program.operands(id)) {
      const value = viewed(program, operand);
      if (draft.members.has(value.node) || isNumber(program, value)) continue;
      reads.add(value);
    }
    for (const value of program.sizeReads(id)) reads.add(value);
  }
  return {
    draft,
    reads,
    writes: new Set(draft.anchors.flatMap((id) => program.results(id))),
    beside: new Set(),
    kept: new Set(),
    order: draft.anchors[0],
  };
}
