import { sameShape } from '../base/dim.js';
import type { NodeId } from '../graph/graph.js';
import { type CallNode, type Program, sameType, type Value } from '../ir/program.js';
import { scalarBytes } from '../loop/build.js';
import { computeScalar } from '../ops/lowering.js';
import { declarationOf } from './facets.js';
import type { Group } from './fuse.js';
import type { Costs } from './fuseCost.js';
import { type Draft, identityPath, mostMembers } from './fuseInline.js';
import { fitsRows } from './fuseRows.js';
import { isNumber } from './places.js';
import { inputLevel, isWide, rowFrame, rowLevels } from './rows.js';
import { SizeReads } from './sizereads.js';
import { viewed } from './views.js';

/** One nest keeps no more arrays in flight: registers, and the ways of a cache, are few. */
const mostStreams = 24;

/**
 * The most arithmetic behind each result of a product. It is written out for every register of every
 * tile, so a long one makes a large kernel, which takes longer to compile than a pass of its own ever
 * takes to run: the update of an optimizer fits, activations with a polynomial do not.
 */
const longestEpilogue = 24;

/** How far a search for a path between two groups may go before the merge is given up. */
const searchLimit = 2000;

/**
 * Merges groups that run over one domain, so that what one writes the other finds in registers:
 *
 * - point groups with the point groups that read them at the same index (one kernel, several results);
 * - point groups into the reductions that fold them (the reduction writes what it folds);
 * - point groups into the reductions and kernels whose results they continue (epilogues);
 * - reductions into what reads their results for the same rows (`fuseRows.ts`);
 * - reductions of inputs of one shape over the same axes, where neither needs the other.
 */
export function mergeGroups(
  program: Program,
  drafts: readonly Draft[],
  costs: Costs,
): readonly Group[] {
  const merger = new Merger(program, drafts, costs);
  merger.run();
  return merger.groups();
}

interface Cluster {
  draft: Draft;
  reads: Set<Value>;
  writes: Set<Value>;
  beside: Set<Value>;
  /** What was to be written and is not, since it is needed inside only. */
  kept: Set<Value>;
  /** A topological number: what a cluster reads is written by clusters of lower numbers. */
  order: number;
}

class Merger {
  readonly #program: Program;
  readonly #clusters: Set<Cluster> = new Set();
  readonly #writer: Map<Value, Cluster> = new Map();
  readonly #readers: Map<Value, Set<Cluster>> = new Map();
  readonly #outputs: ReadonlySet<Value>;

  readonly #costs: Costs;
  readonly #sizes: SizeReads;

  constructor(program: Program, drafts: readonly Draft[], costs: Costs) {
    this.#program = program;
    this.#costs = costs;
    this.#sizes = new SizeReads(program);
    this.#outputs = new Set(program.outputs.map(({ value }) => viewed(program, value)));
    for (const draft of drafts) this.#add(draft);
  }

  /**
   * Point groups first join each other, then what they continue, then rows, and only what is left joins
   * the reductions that read it: an epilogue saves a store and a load, a side result only a load.
   */
  run(): void {
    this.#mergeWhere((from, into) => from.kind === 'point' && into.kind === 'point');
    this.#mergeWhere((from) => from.kind !== 'point');
    this.#mergeWhere((from, into) => from.kind !== 'point' || into.kind === 'rows', true);
    this.#mergeWhere(() => true, true);
    const readersOf = Array.from(this.#readers, ([value, readers]) => ({
      value,
      all: [...readers],
    }));
    for (const { value, all } of readersOf) this.#mergeSiblings(value, all);
  }

  /** Readers first, so that a chain grows from its end. */
  #mergeWhere(wanted: (from: Draft, into: Draft) => boolean, inRows: boolean = false): void {
    for (const cluster of [...this.#clusters].sort((a, b) => b.order - a.order)) {
      // A cluster that was merged into another one is gone from the set.
      if (!this.#clusters.has(cluster)) continue;
      let current: Cluster = cluster;
      for (;;) {
        const partner = this.#producers(current).find(
          (other) => wanted(other.draft, current.draft) && this.#canMerge(other, current, false),
        );
        if (partner !== undefined) {
          current = this.#merge(partner, current);
          continue;
        }
        if (!inRows) break;
        const rows = this.#producers(current).find((other) => this.#canMerge(other, current, true));
        if (rows === undefined) break;
        current = this.#merge(rows, current, true);
      }
    }
  }

  groups(): readonly Group[] {
    return [...this.#clusters].map((cluster) => ({
      anchors: cluster.draft.anchors,
      members: [...cluster.draft.members].sort((a, b) => a - b),
      reads: [...cluster.reads],
      writes: [...cluster.writes],
      beside: [...cluster.beside],
      kept: [...cluster.kept],
      reuses: this.#reuses(cluster),
    }));
  }

  #reuses(cluster: Cluster): Group['reuses'] {
    const reuses = new Map<Value, Value[]>();
    // What follows a fold may compute again what was written beside it, from the same operands; it alone
    // reads operands of another shape.
    const isRepeated =
      cluster.draft.kind !== 'rows' &&
      cluster.beside.size > 0 &&
      cluster.writes.size > cluster.beside.size;
    const overwritten = this.#overwritten(cluster);
    const last = cluster.draft.kind === 'rows' ? this.#lastOfRows(cluster) : cluster.writes;
    for (const operand of cluster.reads) {
      if (isRepeated && sameShape(operand.type.shape, cluster.draft.domain)) continue;
      const takers = [...last].filter(({ type }) => sameType(type, operand.type));
      if (takers.length === 0) continue;
      if (operand !== overwritten && !this.#readOnlyAtIdentity(operand, cluster)) continue;
      for (const value of takers) reuses.set(value, [...(reuses.get(value) ?? []), operand]);
    }
    return reuses;
  }

  /** What is written when a row is looked at for the last time, element by element. */
  #lastOfRows({ draft, beside }: Cluster): ReadonlySet<Value> {
    const levels = rowLevels(this.#program, [...draft.members], draft.anchors);
    const looks = draft.anchors.map((id) => inputLevel(this.#program, id, levels));
    const last = Math.max(...looks, ...[...beside].map(({ node }) => levels.get(node)!));
    return new Set([...beside].filter(({ node }) => levels.get(node) === last));
  }

  /** The operand that a kernel on its own writes over, if it is read as that only. */
  #overwritten({ draft: { anchors, members } }: Cluster): Value | null {
    const [id] = anchors;
    const { lowering } = declarationOf((this.#program.node(id) as CallNode).op);
    if (lowering.kind !== 'kernel' || lowering.overwrites === undefined || members.size > 1) {
      return null;
    }
    const operands = this.#program.operands(id);
    const operand = operands[lowering.overwrites];
    const uses = operands.filter((each) => viewed(this.#program, each) === operand);
    return uses.length === 1 && viewed(this.#program, operand) === operand ? operand : null;
  }

  #add(draft: Draft): Cluster {
    const members = [...draft.members];
    const cluster: Cluster = {
      draft,
      reads: new Set(),
      writes: new Set(draft.anchors.flatMap((id) => this.#program.results(id))),
      beside: new Set(),
      kept: new Set(),
      order: draft.anchors[0],
    };
    for (const id of members) {
      for (const operand of this.#program.operands(id)) {
        const value = viewed(this.#program, operand);
        if (draft.members.has(value.node) || isNumber(this.#program, value)) continue;
        cluster.reads.add(value);
      }
      for (const value of this.#sizes.of(id)) cluster.reads.add(value);
    }
    this.#register(cluster);
    return cluster;
  }

  #register(cluster: Cluster): void {
    this.#clusters.add(cluster);
    for (const value of cluster.writes) this.#writer.set(value, cluster);
    for (const value of cluster.reads) {
      let readers = this.#readers.get(value);
      if (readers === undefined) this.#readers.set(value, (readers = new Set()));
      readers.add(cluster);
    }
  }

  /** The clusters that write what a cluster reads, the latest first. */
  #producers({ reads }: Cluster): readonly Cluster[] {
    const found = new Set<Cluster>();
    for (const value of reads) {
      const writer = this.#writer.get(value);
      if (writer !== undefined) found.add(writer);
    }
    const producers = [...found];
    return producers.length < 2 ? producers : producers.sort((a, b) => b.order - a.order);
  }

  #canMerge(from: Cluster, into: Cluster, inRows: boolean): boolean {
    return (
      (inRows ? this.#areRows(from, into) : this.#agree(from, into)) && !this.#hasDetour(from, into)
    );
  }

  #areRows(from: Cluster, into: Cluster): boolean {
    return isSmallEnough(from, into) && fitsRows(this.#program, from, into);
  }

  #agree(from: Cluster, into: Cluster): boolean {
    if (from.draft.kind === 'control' || into.draft.kind === 'control') return false;
    if (from.draft.kind === 'rows') return false;
    const isEpilogue = from.draft.kind !== 'point';
    if (isEpilogue ? into.draft.kind !== 'point' : into.draft.kind === 'kernel') return false;
    if (!isSmallEnough(from, into)) return false;
    if (from.draft.kind === 'kernel' && !this.#isEpilogueOf(from.draft, into.draft)) return false;
    const { domain } = into.draft;
    if (!isEpilogue && !sameShape(from.draft.domain, domain)) return false;
    const continued = isEpilogue ? this.#epilogueValues(from) : null;
    for (const value of into.reads) {
      if (!from.writes.has(value)) continue;
      if (continued !== null) {
        if (!continued.has(value) || !sameShape(value.type.shape, domain)) return false;
      }
      if (!this.#readOnlyAtIdentity(value, into)) return false;
    }
    return true;
  }

  /**
   * Whether an epilogue takes no wider scalars than its kernel, whose vectors hold those of its results,
   * and is no longer than what it saves.
   */
  #isEpilogueOf({ anchors: [anchor] }: Draft, { members }: Draft): boolean {
    const [{ type }] = this.#program.results(anchor);
    const room = scalarBytes(computeScalar(type.dtype));
    let total = 0;
    for (const id of members) {
      const { work, width } = this.#costs.of(id);
      if (width > room) return false;
      total += work;
    }
    return total <= longestEpilogue;
  }

  /**
   * What a kernel's epilogue may read: its results and what an epilogue has made of them. Operators with
   * several results store them one by one, so theirs have no epilogue.
   */
  #epilogueValues({ draft, writes, beside }: Cluster): ReadonlySet<Value> {
    const [anchor] = draft.anchors;
    if (draft.kind === 'kernel' && this.#program.results(anchor).length > 1) return new Set();
    return new Set([...writes].filter((value) => !beside.has(value)));
  }

  /** Whether every member that reads a value does so at the index of the domain. */
  #readOnlyAtIdentity(value: Value, { draft }: Cluster): boolean {
    for (const id of draft.members) {
      const operands = this.#program.operands(id);
      for (let k = 0; k < operands.length; k++) {
        const operand = operands[k];
        if (viewed(this.#program, operand) !== value) continue;
        if (operand !== value) return false;
        const call = this.#program.node(id) as CallNode;
        const { lowering } = declarationOf(call.op);
        if (lowering.kind === 'reduce') {
          if (k !== 0) return false;
          continue;
        }
        if (lowering.kind !== 'point' || !lowering.elementwise) return false;
        if (!sameShape(value.type.shape, call.types[0].shape)) return false;
        const paths = draft.paths.get(id);
        if (paths === undefined || paths.size !== 1 || !paths.has(identityPath)) return false;
      }
    }
    return true;
  }

  /** Whether something else must run between two clusters; also true when that is too costly to know. */
  #hasDetour(from: Cluster, into: Cluster): boolean {
    if (!this.#hasOtherReaders(from, into)) return false;
    const producers = this.#producers(into);
    // What comes later has higher numbers, and a detour ends in one of these.
    const last = producers.length === 0 ? -1 : producers[0].order;
    if (last <= from.order) return false;
    const later = this.#reachable(
      from,
      (cluster) => this.#nextOf(cluster),
      (next) => next.order <= last,
      searchLimit,
    );
    return later === null || producers.some((producer) => later.has(producer));
  }

  #hasOtherReaders({ writes }: Cluster, reader: Cluster): boolean {
    for (const value of writes) {
      for (const other of this.#readers.get(value) ?? []) if (other !== reader) return true;
    }
    return false;
  }

  /** The clusters that can be reached by steps that satisfy a condition; null when they are more than a limit. */
  #reachable(
    from: Cluster,
    step: (cluster: Cluster) => Iterable<Cluster>,
    isWithin: (next: Cluster) => boolean,
    limit: number = Infinity,
  ): Set<Cluster> | null {
    const found = new Set<Cluster>();
    const open = [from];
    while (open.length > 0) {
      for (const next of step(open.pop()!)) {
        if (found.has(next) || !isWithin(next)) continue;
        if (found.size === limit) return null;
        found.add(next);
        open.push(next);
      }
    }
    return found;
  }

  /** The clusters that read what a cluster writes; one that reads several results, several times. */
  #nextOf({ writes }: Cluster): Iterable<Cluster> {
    const next: Cluster[] = [];
    for (const value of writes)
      for (const reader of this.#readers.get(value) ?? []) next.push(reader);
    return next;
  }

  /**
   * The number of the cluster that two become. What lies between them is renumbered: all that the later
   * one needs goes before, all that needs the earlier one goes behind (Pearce and Kelly, A dynamic
   * topological sort algorithm for directed acyclic graphs, 2006).
   */
  #joinOrder(from: Cluster, into: Cluster): number {
    const isBetween = ({ order }: Cluster): boolean => order > from.order && order < into.order;
    const byOrder = (a: Cluster, b: Cluster): number => a.order - b.order;
    const behind = this.#reachable(from, (cluster) => this.#nextOf(cluster), isBetween) ?? [];
    const before = this.#reachable(into, (cluster) => this.#producers(cluster), isBetween) ?? [];
    const [first, last] = [[...before].sort(byOrder), [...behind].sort(byOrder)];
    const numbers = [from, into, ...first, ...last].map(({ order }) => order).sort((a, b) => a - b);
    first.forEach((cluster, i) => (cluster.order = numbers[i]));
    last.forEach((cluster, i) => (cluster.order = numbers[numbers.length - last.length + i]));
    return numbers[first.length];
  }

  #merge(from: Cluster, into: Cluster, inRows: boolean = false): Cluster {
    const order = this.#joinOrder(from, into);
    for (const cluster of [from, into]) {
      this.#clusters.delete(cluster);
      for (const value of cluster.reads) this.#readers.get(value)?.delete(cluster);
    }
    const isEpilogue = from.draft.kind !== 'point';
    const [shaping, joining] = isEpilogue ? [from, into] : [into, from];
    const bothFold = folds(from.draft) && folds(into.draft);
    const draft: Draft = {
      ...shaping.draft,
      kind: inRows ? 'rows' : shaping.draft.kind,
      anchors: bothFold ? [...from.draft.anchors, ...into.draft.anchors] : shaping.draft.anchors,
      members: new Set([...shaping.draft.members, ...joining.draft.members]),
      paths: joinPaths(joining.draft.paths, shaping.draft.paths),
    };
    const writes = new Set<Value>();
    for (const value of [...from.writes, ...into.writes]) {
      const isRead = (this.#readers.get(value)?.size ?? 0) > 0;
      if (isRead || this.#outputs.has(value) || !from.writes.has(value) || !into.reads.has(value)) {
        writes.add(value);
      }
    }
    const reads = new Set(
      [...from.reads, ...into.reads].filter((value) => !draft.members.has(value.node)),
    );
    const frame = inRows ? rowFrame(this.#program, draft.anchors[0]) : null;
    const joined = [
      ...from.beside,
      ...into.beside,
      ...(from.draft.kind === 'point' && folds(into.draft) ? from.writes : []),
      ...(frame !== null && isWide(frame, into.draft.domain) && into.draft.kind === 'point'
        ? into.writes
        : []),
    ];
    const dropped = [...from.writes, ...into.writes].filter((value) => !writes.has(value));
    const merged: Cluster = {
      draft,
      reads,
      writes,
      beside: new Set(joined.filter((value) => writes.has(value))),
      kept: new Set([...from.kept, ...into.kept, ...dropped]),
      order,
    };
    this.#register(merged);
    return merged;
  }

  /** Reductions that fold one value alike share one pass over it. */
  #mergeSiblings(value: Value, readers: readonly Cluster[]): void {
    const reductions = readers.filter(
      ({ draft }) => draft.kind === 'reduce' && sameShape(draft.domain, value.type.shape),
    );
    for (let i = 0; i + 1 < reductions.length; i++) {
      const [a, b] = [reductions[i], reductions[i + 1]].sort((x, y) => x.order - y.order);
      if (!this.#clusters.has(a) || !this.#clusters.has(b)) continue;
      if (!isSmallEnough(a, b) || !this.#foldAlike(a, b) || this.#depends(a, b)) continue;
      reductions[i + 1] = this.#merge(a, b);
    }
  }

  #foldAlike(a: Cluster, b: Cluster): boolean {
    const [x, y] = [a, b].map(({ draft }) => this.#foldedAxes(draft.anchors[0]));
    return sameShape(a.draft.domain, b.draft.domain) && x.join() === y.join();
  }

  #foldedAxes(id: NodeId): readonly number[] {
    const call = this.#program.node(id) as CallNode;
    const { lowering } = declarationOf(call.op);
    if (lowering.kind !== 'reduce') return [];
    return lowering.axes(call.attributes, this.#program.operands(id)[0].type.shape.length);
  }

  #depends(from: Cluster, into: Cluster): boolean {
    for (const value of into.reads) if (from.writes.has(value)) return true;
    return this.#hasDetour(from, into);
  }
}

function folds({ kind }: Draft): boolean {
  return kind === 'reduce' || kind === 'rows';
}

function isSmallEnough(from: Cluster, into: Cluster): boolean {
  const streams = from.reads.size + into.reads.size + from.writes.size + into.writes.size;
  return streams <= mostStreams && from.draft.members.size + into.draft.members.size <= mostMembers;
}

function joinPaths(a: Draft['paths'], b: Draft['paths']): Draft['paths'] {
  const joined = new Map(a);
  for (const [id, paths] of b) {
    const known = a.get(id);
    joined.set(id, known === undefined ? paths : new Map([...known, ...paths]));
  }
  return joined;
}
