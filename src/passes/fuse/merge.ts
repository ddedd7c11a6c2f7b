import { sameShape } from '../../base/dim/index.js';
import type { Program, Value } from '../../ir/program.js';
import type { Group } from '../groups/group.js';
import { isWide, rowFrame } from '../groups/rows.js';
import { viewed } from '../rewrite/views.js';
import {
  canPassInRegisters,
  haveSameFolds,
  haveSamePoints,
  isSmallEnough,
  readOnlyAtIdentity,
} from './agree.js';
import { type Cluster, Clusters } from './clusters.js';
import type { Costs } from './cost.js';
import type { Draft } from './inline.js';
import { joinedProducer } from './join.js';
import { reusesOf } from './reuse.js';
import { fitsRows } from './rows.js';

/**
 * Merges groups over one domain, so that values pass in registers:
 *
 * - point groups with point groups that read them at the same index (one kernel, several results);
 * - point groups into the reductions that fold them (the reduction also writes its operand);
 * - point groups into the reductions and kernels whose results they continue (epilogues);
 * - reductions into readers of their results in the same rows (`rows.ts`);
 * - independent reductions of inputs of one shape over the same axes;
 * - independent point groups that read an array of their domain at the same index;
 * - point groups with the concatenation of their results (`join.ts`).
 */
export function mergeGroups(
  program: Program,
  drafts: readonly Draft[],
  costs: Costs,
): readonly Group[] {
  const merger = new Merger(program, new Clusters(program, drafts), costs);
  merger.run();
  return merger.groups();
}

class Merger {
  readonly #program: Program;
  readonly #clusters: Clusters;
  readonly #costs: Costs;
  readonly #outputs: ReadonlySet<Value>;

  constructor(program: Program, clusters: Clusters, costs: Costs) {
    this.#program = program;
    this.#clusters = clusters;
    this.#costs = costs;
    this.#outputs = new Set(program.outputs.map(({ value }) => viewed(program, value)));
  }

  /**
   * Merging order: point groups with each other, except possible epilogues; then epilogues; then rows; and
   * only then point groups into the reductions that read them: an epilogue saves a store and a load, an
   * additional result only a load.
   */
  run(): void {
    this.#mergeWhere(
      (from, into) => from.kind === 'point' && into.kind === 'point' && !from.continuesKernel,
    );
    this.#mergeWhere((from) => from.kind !== 'point');
    this.#mergeWhere((from, into) => from.kind !== 'point' || into.kind === 'rows', true);
    this.#mergeWhere(() => true, true);
    for (const [value, readers] of this.#clusters.readers()) this.#mergeSiblings(value, readers);
    for (const cluster of this.#clusters.all()) {
      const from = joinedProducer(this.#program, this.#clusters, cluster);
      if (from !== null && !this.#clusters.hasDetour(from, cluster)) this.#merge(from, cluster);
    }
  }

  /** Readers first, so that a chain grows from its end. */
  #mergeWhere(wanted: (from: Draft, into: Draft) => boolean, inRows: boolean = false): void {
    for (const cluster of this.#clusters.all().sort((a, b) => b.order - a.order)) {
      // A cluster that was merged into another no longer exists.
      if (!this.#clusters.has(cluster)) continue;
      let current: Cluster = cluster;
      for (;;) {
        const producers = this.#clusters.producers(current);
        const partner = producers.find(
          (other) => wanted(other.draft, current.draft) && this.#canMerge(other, current, false),
        );
        if (partner !== undefined) {
          current = this.#merge(partner, current);
          continue;
        }
        if (!inRows) break;
        const rows = producers.find((other) => this.#canMerge(other, current, true));
        if (rows === undefined) break;
        current = this.#merge(rows, current, true);
      }
    }
  }

  groups(): readonly Group[] {
    return this.#clusters.all().map((cluster) => ({
      anchors: cluster.draft.anchors,
      members: [...cluster.draft.members].sort((a, b) => a - b),
      reads: [...cluster.reads],
      writes: [...cluster.writes],
      beside: [...cluster.beside],
      kept: [...cluster.kept],
      reuses: reusesOf(this.#program, cluster),
    }));
  }

  #canMerge(from: Cluster, into: Cluster, inRows: boolean): boolean {
    const canShare = inRows
      ? isSmallEnough(from, into) && fitsRows(this.#program, from, into)
      : canPassInRegisters(this.#program, this.#costs, from, into);
    return canShare && !this.#clusters.hasDetour(from, into);
  }

  #merge(from: Cluster, into: Cluster, inRows: boolean = false): Cluster {
    const order = this.#clusters.takeOut(from, into);
    // The loops are those of what is continued by an epilogue or a concatenation, else those of the reader.
    const isContinued = from.draft.kind !== 'point' || into.draft.kind === 'kernel';
    const [shaping, joining] = isContinued ? [from, into] : [into, from];
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
      const isRead = this.#clusters.isRead(value);
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
    this.#clusters.put(merged);
    return merged;
  }

  /**
   * Merges reductions that fold the same value alike, and point groups that read it alike: they share one pass over it.
   */
  #mergeSiblings(value: Value, readers: readonly Cluster[]): void {
    const alongside = readers.filter(({ draft }) => sameShape(draft.domain, value.type.shape));
    const reductions = alongside.filter(({ draft }) => draft.kind === 'reduce');
    this.#mergePairs(reductions, (a, b) => haveSameFolds(this.#program, a, b));
    const points = alongside.filter(
      (cluster) => cluster.draft.kind === 'point' && readOnlyAtIdentity(this.#program, value, cluster), // prettier-ignore
    );
    this.#mergePairs(points, haveSamePoints);
  }

  /** Merges neighbors of a list that agree and do not depend on each other. */
  #mergePairs(list: Cluster[], agree: (a: Cluster, b: Cluster) => boolean): void {
    for (let i = 0; i + 1 < list.length; i++) {
      const [a, b] = [list[i], list[i + 1]].sort((x, y) => x.order - y.order);
      if (!this.#clusters.has(a) || !this.#clusters.has(b)) continue;
      if (!isSmallEnough(a, b) || !agree(a, b)) continue;
      if (!this.#clusters.depends(a, b)) list[i + 1] = this.#merge(a, b);
    }
  }
}

function folds({ kind }: Draft): boolean {
  return kind === 'reduce' || kind === 'rows';
}

function joinPaths(a: Draft['paths'], b: Draft['paths']): Draft['paths'] {
  const joined = new Map(a);
  for (const [id, paths] of b) {
    const known = a.get(id);
    joined.set(id, known === undefined ? paths : new Map([...known, ...paths]));
  }
  return joined;
}
