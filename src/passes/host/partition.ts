import { symbolsOf } from '../../base/dim/index.js';
import { UnsupportedError } from '../../base/errors.js';
import type { NodeId } from '../../graph/graph.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { symbolsOfCall } from '../../ir/size-sources.js';
import { dimsOf, type Requirement } from '../../ir/requirement.js';
import { isFree } from '../gradient/effort.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { isHostRun } from './islands/host-run.js';
import { type Island, islandOf } from './islands/island.js';
import { keptSizes, symbolsAround } from './islands/kept-sizes.js';
import { isExtents } from '../rewrite/measure.js';
import { viewed } from '../rewrite/views.js';

/** Elements that an operator would refuse, and that are there before its island runs. */
export interface BoundaryCheck {
  readonly call: CallNode;
  readonly operands: readonly Value[];
  readonly elements: Value;
}

/** An island, and what the host does before and when it has run. */
export interface IslandStage {
  /** Of calls whose sizes only the data decides: nobody could check them earlier. */
  readonly checks: readonly BoundaryCheck[];
  readonly island: Island | null;
  /** Calls that run elsewhere, when the island has run, and what is checked before. */
  readonly elsewhere: Pick<IslandStage, 'checks' | 'island'> | null;
  /** The calls whose operand's elements become sizes. */
  readonly extents: readonly NodeId[];
  /** The loops and branches that the host runs. */
  readonly calls: readonly NodeId[];
  /** Requirements of sizes that are known from here on. */
  readonly requirements: readonly Requirement[];
}

/** A program cut where only the data, or the host, can say how it goes on. */
export interface Partition {
  readonly program: Program;
  readonly stages: readonly IslandStage[];
}

/** Chooses calls for certain places to run. */
export interface CallPlacement {
  /** Loops and branches that the host runs. Default: those that no kernel can. */
  readonly runsOnHost?: typeof isHostRun;
  /** Calls that run elsewhere than the rest, as what a device lacks does. Default: none. */
  readonly runsElsewhere?: (call: CallNode, id: NodeId) => boolean;
  /** Calls that cost nothing and may be repeated where others run elsewhere. Default: all of them. */
  readonly mayRepeatElsewhere?: (call: CallNode, id: NodeId) => boolean;
  /** Make one island of a program without cuts. Default false. */
  readonly isWhole?: boolean;
  /** Let islands make bounded sizes from data themselves and go on (`islands/kept-sizes.ts`). Default false. */
  readonly keepsSizes?: boolean;
}

/**
 * Cuts a program into as few islands as its cuts allow: each call runs in the earliest island in which
 * its operands and sizes are known. Only views, constants, and what has no operands are made in every
 * island that reads them. Null for a program without cuts.
 */
export function partition(program: Program, placement: CallPlacement = {}): Partition | null {
  const { runsOnHost = isHostRun, runsElsewhere = () => false, isWhole = false } = placement;
  const { mayRepeatElsewhere = () => true } = placement;
  const own = program.decidedSizes;
  const [hostRun, elsewhere] = [new Set<NodeId>(), new Set<NodeId>()];
  const repeated = new Set<NodeId>();
  for (const [id, node] of program.calls()) {
    const spoken = symbolsOfCall(node);
    if (spoken.size > 0) {
      const unknown = [...spoken].filter((name) => !program.knowsSize(name));
      if (unknown.length > 0) throw unplanned(node, unknown);
    }
    if (runsOnHost(node, id, own)) hostRun.add(id);
    else if (!isExtents(node) && runsElsewhere(node, id)) elsewhere.add(id);
    else if (isFree(program, id) && mayRepeatElsewhere(node, id)) repeated.add(id);
  }
  const hasCuts = own.size + hostRun.size + elsewhere.size > 0;
  if (!hasCuts && !isWhole) return null;
  const mayKeep = (call: CallNode, id: NodeId): boolean =>
    !runsElsewhere(call, id) && !program.operands(id).some(({ node }) => elsewhere.has(node));
  const kept = placement.keepsSizes === true ? keptSizes(program, mayKeep) : new Set<NodeId>();
  return new Partitioner(program, hostRun, elsewhere, repeated, kept).run();
}

/** A program without cuts as the one island that it is. */
export function wholePartition(program: Program): Partition {
  const gives = program.outputs.map(({ value }) => viewed(program, value));
  const members = [...program.graph.nodes()].filter((id) => program.node(id).kind !== 'variable');
  const island = { program, reads: program.inputs, gives, members, revealed: [] };
  const stage = { checks: [], island, elsewhere: null, extents: [], calls: [], requirements: [] };
  return { program, stages: [stage] };
}

/** Stage in the making: values for its island to compute, and statements behind it. */
interface Draft {
  readonly wanted: Set<Value>;
  /** Values for the calls that run elsewhere to compute. */
  readonly wantedElsewhere: Set<Value>;
  readonly revealed: NodeId[];
  readonly extents: NodeId[];
  readonly calls: NodeId[];
  readonly requirements: Requirement[];
}

class Partitioner {
  readonly #program: Program;
  readonly #hostRun: ReadonlySet<NodeId>;
  readonly #elsewhere: ReadonlySet<NodeId>;
  /** Calls that cost nothing, for islands and for what runs elsewhere. */
  readonly #repeated: ReadonlySet<NodeId>;
  /** Calls that make sizes inside of their islands. */
  readonly #kept: ReadonlySet<NodeId>;
  /** By node: the first stage that can read its results. */
  readonly #stageOf: Int32Array;
  /** By node: the first stage in which calls that run elsewhere can read its results. */
  readonly #besideOf: Int32Array;
  readonly #drafts: Draft[] = [];

  constructor(
    program: Program,
    hostRun: ReadonlySet<NodeId>,
    elsewhere: ReadonlySet<NodeId>,
    repeated: ReadonlySet<NodeId>,
    kept: ReadonlySet<NodeId>,
  ) {
    this.#program = program;
    this.#hostRun = hostRun;
    this.#elsewhere = elsewhere;
    this.#repeated = repeated;
    this.#kept = kept;
    this.#stageOf = new Int32Array(program.graph.nodeCount);
    this.#besideOf = new Int32Array(program.graph.nodeCount);
  }

  run(): Partition {
    const program = this.#program;
    for (const id of program.graph.nodes()) {
      const node = program.node(id);
      if (node.kind === 'call') this.#place(id, node);
      else if (node.kind === 'check') this.#require(id, node.requirement);
    }
    if (this.#elsewhere.size > 0) this.#delay();
    for (const { value } of program.outputs) this.#want(value);
    const stages = this.#stages();
    return { program, stages: this.#reveal(stages) ? this.#stages() : stages };
  }

  #stages(): readonly IslandStage[] {
    for (const { extents, calls } of this.#drafts) {
      for (const id of [...extents, ...calls]) {
        this.#program.operands(id).forEach((value) => this.#want(value));
      }
    }
    const stages: IslandStage[] = [];
    // From the last: an island says what it wants of those before it.
    for (let stage = this.#drafts.length - 1; stage >= 0; stage--) {
      stages.push(this.#stage(stage, this.#drafts[stage]));
    }
    return stages.reverse();
  }

  /** Reveals kept sizes of which results, the host or other islands speak; false where there are none. */
  #reveal(stages: readonly IslandStage[]): boolean {
    if (this.#kept.size === 0) return false;
    const program = this.#program;
    const spoken = new Set(symbolsOfTypes(program.outputs.map(({ value }) => value.type)).keys());
    for (const { island, elsewhere, extents, calls, requirements } of stages) {
      for (const dim of requirements.flatMap(dimsOf)) symbolsOf(dim, spoken);
      for (const id of [...extents, ...calls]) {
        for (const name of symbolsAround(program, id)) spoken.add(name);
      }
      for (const part of [island, elsewhere?.island]) {
        for (const { key } of part?.program.sizes ?? []) spoken.add(key);
        for (const name of symbolsOfTypes(part?.reads.map(({ type }) => type) ?? []).keys()) {
          spoken.add(name);
        }
      }
    }
    const revealed: NodeId[] = [];
    // From the last: the host compares a size with its bound, which speaks of sizes before it.
    for (const id of [...this.#kept].reverse()) {
      const call = program.node(id) as CallNode;
      if (![...symbolsOfTypes(call.types).keys()].some((name) => spoken.has(name))) continue;
      for (const name of symbolsOfCall(call)) spoken.add(name);
      revealed.unshift(id);
    }
    for (const id of revealed) this.#draft(this.#stageOf[id]).revealed.push(id);
    return revealed.length > 0;
  }

  /** The first stage in which a node has all that it reads. */
  #readyFor(id: NodeId, stageOf: Int32Array = this.#stageOf): number {
    let ready = 0;
    this.#program.graph.forEachPredecessor(id, (source) => {
      ready = Math.max(ready, stageOf[source]);
    });
    return ready;
  }

  #require(id: NodeId, requirement: Requirement): void {
    let ready = 0;
    this.#program.graph.forEachPredecessor(id, (source) => {
      // The host knows a size that is kept when the island has run.
      ready = Math.max(ready, this.#stageOf[source] + Number(this.#kept.has(source)));
    });
    // Sizes of inputs alone are checked before the program runs.
    if (ready > 0) this.#draft(ready - 1).requirements.push(requirement);
  }

  #place(id: NodeId, call: CallNode): void {
    // Calls that run elsewhere in one stage are one program.
    const beside = this.#readyFor(id, this.#besideOf);
    const ready = this.#elsewhere.has(id) ? beside : this.#readyFor(id);
    const { decidedSizes } = this.#program;
    const introduces = [...decidedSizes].flatMap(([name, { node }]) => (node === id ? [name] : []));
    const draft = this.#draft(ready);
    if (this.#hostRun.has(id)) draft.calls.push(id);
    else if (this.#elsewhere.has(id)) {
      if (introduces.length > 0) throw unplanned(call, introduces);
    } else if (introduces.length === 0 || this.#kept.has(id)) {
      this.#stageOf[id] = ready;
      this.#besideOf[id] = this.#repeated.has(id) ? beside : ready;
      return;
    } else if (isExtents(call)) draft.extents.push(id);
    else throw unplanned(call, introduces);
    this.#draft(ready + 1);
    this.#stageOf[id] = ready + 1;
    this.#besideOf[id] = this.#elsewhere.has(id) ? ready : ready + 1;
  }

  /**
   * Has calls that run elsewhere run with the first of their readers there, if nothing else needs them before: what
   * only prepares operands then needs no run of its own.
   */
  #delay(): void {
    const program = this.#program;
    const never = this.#drafts.length;
    /** By node: the last stage in which it may run elsewhere, for all readers, and for those that run there. */
    const [latest, beside] = [0, 1].map(() => new Int32Array(program.graph.nodeCount).fill(never));
    const ids = [...program.graph.nodes()];
    for (const id of ids.toReversed()) {
      const isElsewhere = this.#elsewhere.has(id);
      const isRepeated = this.#repeated.has(id);
      if (isElsewhere && beside[id] < never && beside[id] === latest[id]) {
        this.#stageOf[id] = beside[id] + 1;
        this.#besideOf[id] = beside[id];
      }
      // A stage of the island comes before the host's calls, and both behind all that ran elsewhere before.
      const own = this.#stageOf[id] - (this.#isPlain(id) ? 1 : 2);
      const before = isElsewhere ? this.#besideOf[id] : isRepeated ? latest[id] : own;
      const there = isElsewhere ? before : isRepeated ? beside[id] : never;
      program.graph.forEachPredecessor(id, (source) => {
        latest[source] = Math.min(latest[source], before);
        beside[source] = Math.min(beside[source], there);
      });
    }
    for (const id of ids) {
      if (!this.#repeated.has(id)) continue;
      this.#stageOf[id] = this.#readyFor(id);
      this.#besideOf[id] = this.#readyFor(id, this.#besideOf);
    }
  }

  /** True for a call of an island: results of the others are there in the next stage. */
  #isPlain(id: NodeId): boolean {
    const node = this.#program.node(id);
    return node.kind !== 'call' || this.#kept.has(id) || !(this.#hostRun.has(id) || isExtents(node)); // prettier-ignore
  }

  #draft(stage: number): Draft {
    return (this.#drafts[stage] ??= {
      wanted: new Set(),
      wantedElsewhere: new Set(),
      revealed: [],
      extents: [],
      calls: [],
      requirements: [],
    });
  }

  /** Has what a value views made where it can be made first, unless it is there anyway. */
  #want(value: Value): void {
    const base = viewed(this.#program, value);
    const node = this.#program.node(base.node);
    if (node.kind !== 'call' || this.#hostRun.has(base.node)) return;
    const stage = this.#stageOf[base.node];
    if (this.#elsewhere.has(base.node)) this.#drafts[stage - 1].wantedElsewhere.add(base);
    else this.#drafts[stage].wanted.add(base);
  }

  #stage(stage: number, draft: Draft): IslandStage {
    const { wanted, wantedElsewhere, revealed, extents, calls, requirements } = draft;
    // What runs elsewhere comes last, and so says first what it wants of the island.
    const elsewhere = wantedElsewhere.size === 0 ? null : this.#cut(stage, wantedElsewhere, true);
    const { island, checks } = this.#cut(stage, wanted, false, revealed);
    return { checks, island, elsewhere, extents, calls, requirements };
  }

  #cut(
    stage: number,
    wanted: ReadonlySet<Value>,
    isElsewhere: boolean,
    revealed: readonly NodeId[] = [],
  ): Pick<IslandStage, 'island' | 'checks'> {
    const { members, reads } = this.#members(stage, [...wanted], isElsewhere, revealed);
    for (const value of reads) this.#want(value);
    const isEmpty = wanted.size + revealed.length === 0;
    const island = isEmpty ? null : islandOf(this.#program, members, reads, [...wanted], revealed);
    return { island, checks: this.#checks(members, reads) };
  }

  #checks(members: readonly NodeId[], reads: readonly Value[]): readonly BoundaryCheck[] {
    const program = this.#program;
    const isOwn = ({ type }: Value): boolean =>
      [...symbolsOfTypes([type]).keys()].some((name) => program.decidedSizes.has(name));
    return members.flatMap((id) => {
      const call = program.node(id);
      if (call.kind !== 'call') return [];
      const { check } = declarationOf(call.op);
      const operands = program.operands(id);
      if (check === undefined || !operands.some(isOwn)) return [];
      const elements = viewed(program, operands[check.operand]);
      return reads.includes(elements) ? [{ call, operands, elements }] : [];
    });
  }

  /** Nodes of an island, ascending, and values that it reads from outside. */
  #members(
    stage: number,
    roots: readonly Value[],
    isElsewhere: boolean,
    revealed: readonly NodeId[],
  ): { readonly members: readonly NodeId[]; readonly reads: readonly Value[] } {
    const program = this.#program;
    const members = new Set<NodeId>(revealed);
    const reads = new Set<Value>();
    const visit = (value: Value): void => {
      const node = program.node(value.node);
      const isInside =
        node.kind === 'constant' ||
        (node.kind === 'call' && this.#runsIn(stage, isElsewhere, value.node));
      if (isInside) members.add(value.node);
      else reads.add(value);
    };
    roots.forEach(visit);
    // A set grows while it is walked, so that this ends when everything is known.
    for (const id of members) {
      program.operands(id).forEach(visit);
      for (const { node } of program.sizeReads(id)) {
        if (this.#kept.has(node) && !isElsewhere && this.#stageOf[node] === stage)
          members.add(node);
      }
    }
    return { members: [...members].sort((a, b) => a - b), reads: [...reads] };
  }

  #runsIn(stage: number, isElsewhere: boolean, id: NodeId): boolean {
    if (this.#hostRun.has(id)) return false;
    const own = this.#elsewhere.has(id);
    // The island's computer has none of the calls that run elsewhere, not even those that cost nothing.
    if (isFree(this.#program, id) && (isElsewhere ? own || this.#repeated.has(id) : !own))
      return true;
    return own === isElsewhere && this.#stageOf[id] === stage + (own ? 1 : 0);
  }
}

function unplanned({ op, source }: CallNode, symbols: readonly string[]): UnsupportedError {
  return new UnsupportedError('a size that only the data decides cannot be planned', {
    op: op.name,
    expected:
      'dimensions that follow from the shapes of the inputs, or an operator that measures them',
    actual: `the dimension ${symbols.join(', ')}`,
    source,
  });
}
