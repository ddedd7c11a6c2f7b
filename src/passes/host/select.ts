import type { NodeId } from '../../graph/graph.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { isFree } from '../gradient/effort.js';
import { controlOf } from '../lower/main/control.js';
import { loopForms } from '../loops/passes.js';
import { runPipeline } from '../pipeline.js';
import { eliminateDeadCode } from '../rewrite/dce.js';
import { inline } from '../rewrite/inline.js';
import { isExtents } from '../rewrite/measure.js';
import type { Pass } from '../rewrite/pass.js';
import { eliminateCommonSubexpressions } from '../simplify/cse.js';
import { decomposeUnless } from '../simplify/decompose.js';
import { isHostRun } from './islands/host-run.js';
import type { Island } from './islands/island.js';
import { type CallPlacement, partition } from './partition.js';

/** Calls that somebody else can run, and the cost of having them run there. */
export interface CallSelector {
  /** True for a call that can run there; `operands` are the types of what it reads. */
  supports(call: CallNode, operands: readonly TensorType[]): boolean;
  /**
   * Cost of running a call there rather than here, negative where that is a gain. Connected calls run there if their
   * costs and `overhead` add up to less than 0. Default: all that can run there do.
   */
  cost?(call: CallNode, operands: readonly TensorType[]): number;
  /** Cost of a sub-graph as such. Default 0. */
  readonly overhead?: number;
}

/**
 * A program for which calls can be selected: calls that are supported are whole, all others are written in others as
 * far as possible, so that parts of them may be supported.
 */
export function selectable(program: Program, selector: CallSelector): Program {
  const stays = (call: CallNode, operands: readonly Value[]): boolean =>
    selector.supports(
      call,
      operands.map(({ type }) => type),
    );
  const steps: readonly Pass[] = [
    { name: 'inline', doc: 'put the bodies of calls in their places', run: (each) => inline(each) },
    {
      name: 'decompose',
      doc: 'expand operators that are not supported',
      run: (each) => decomposeUnless(each, stays),
    },
    { name: 'cse', doc: 'compute equal things once', run: eliminateCommonSubexpressions },
    ...loopForms,
    { name: 'dce', doc: 'drop what no output needs', run: (each) => eliminateDeadCode(each) },
  ];
  return runPipeline(program, steps);
}

/**
 * Placement of the calls that a selector takes. Loops and branches that are not taken whole are run by the host where
 * calls of their bodies are taken. What costs nothing runs wherever it is read.
 */
export function selectCalls(program: Program, selector: CallSelector): CallPlacement {
  return new Selection(selector).placement(program);
}

class Selection {
  readonly #selector: CallSelector;
  /** By program: the calls that are taken. */
  readonly #taken: Map<Program, ReadonlySet<NodeId>> = new Map();
  readonly #hosting: Map<Program, boolean> = new Map();

  constructor(selector: CallSelector) {
    this.#selector = selector;
  }

  placement(program: Program): CallPlacement {
    return this.#placement(program, this.#takenOf(program));
  }

  #placement(program: Program, taken: ReadonlySet<NodeId>): CallPlacement {
    return {
      runsOnHost: (call, id, own) =>
        controlOf(call) !== null &&
        !taken.has(id) &&
        (isHostRun(call, id, own) || call.regions.some((region) => this.#takesSome(region))),
      runsElsewhere: (_call, id) => taken.has(id),
      mayRepeatElsewhere: (call, id) => this.#supports(program, call, id),
      isWhole: true,
    };
  }

  /** True if calls of a region, or of one inside of it, are taken. */
  #takesSome(region: Program): boolean {
    let found = this.#hosting.get(region);
    if (found === undefined) {
      found =
        this.#takenOf(region).size > 0 ||
        [...region.calls()].some(([, call]) =>
          call.regions.some((inner) => this.#takesSome(inner)),
        );
      this.#hosting.set(region, found);
    }
    return found;
  }

  #takenOf(program: Program): ReadonlySet<NodeId> {
    let taken = this.#taken.get(program);
    if (taken === undefined) this.#taken.set(program, (taken = this.#take(program)));
    return taken;
  }

  #take(program: Program): ReadonlySet<NodeId> {
    const introducing = new Set([...program.decidedSizes.values()].map(({ node }) => node));
    const taken = new Set<NodeId>();
    for (const [id, call] of program.calls()) {
      const isOrdinary = !introducing.has(id) && !isExtents(call) && !isFree(program, id);
      if (isOrdinary && this.#supports(program, call, id)) taken.add(id);
    }
    if (this.#selector.cost === undefined) return taken;
    // Calls that stay here may divide what is around them, so that this is asked again.
    for (let before = -1; before !== taken.size;) {
      before = taken.size;
      const parts = partition(program, this.#placement(program, taken))!;
      for (const { elsewhere } of parts.stages) {
        if (elsewhere?.island) this.#keepUseful(program, elsewhere.island, taken);
      }
    }
    return taken;
  }

  /** Takes back the connected calls of a sub-graph that are not worth it. */
  #keepUseful(program: Program, { members }: Island, taken: Set<NodeId>): void {
    const { overhead = 0 } = this.#selector;
    for (const connected of components(program, members)) {
      const costs = connected.flatMap((id) => {
        const call = program.node(id);
        return call.kind === 'call' ? [this.#selector.cost!(call, operandTypes(program, id))] : [];
      });
      if (costs.reduce((sum, cost) => sum + cost, overhead) < 0) continue;
      for (const id of connected) taken.delete(id);
    }
  }

  #supports(program: Program, call: CallNode, id: NodeId): boolean {
    return this.#selector.supports(call, operandTypes(program, id));
  }
}

function operandTypes(program: Program, id: NodeId): readonly TensorType[] {
  return program.operands(id).map(({ type }) => type);
}

/** The nodes of a sub-graph that are connected with each other, constants aside. */
function components(program: Program, members: readonly NodeId[]): readonly (readonly NodeId[])[] {
  const inside = new Set(members);
  const root = new Map<NodeId, NodeId>(members.map((id) => [id, id]));
  const rootOf = (id: NodeId): NodeId => {
    let at = id;
    while (root.get(at) !== at) at = root.get(at)!;
    root.set(id, at);
    return at;
  };
  for (const id of members) {
    for (const { node } of program.operands(id)) {
      const isConnected = inside.has(node) && program.node(node).kind !== 'constant';
      if (isConnected) root.set(rootOf(node), rootOf(id));
    }
  }
  const byRoot = new Map<NodeId, NodeId[]>();
  for (const id of members) {
    const known = byRoot.get(rootOf(id));
    if (known === undefined) byRoot.set(rootOf(id), [id]);
    else known.push(id);
  }
  return [...byRoot.values()];
}
