import type { NodeId } from '../graph/graph.js';
import type { Program, Value } from '../ir/program.js';
import { declarationOf } from '../ops/facets.js';
import { Costs } from './fuse/cost.js';
import { inlinePoints } from './fuse/inline.js';
import { mergeGroups } from './fuse/merge.js';
import { isNumber } from './places.js';
import { viewed } from './views.js';

/** Nodes that become one kernel. */
export interface Group {
  /**
   * The nodes that give the loops their shape: one, or several reductions in one nest, which may depend on
   * each other if they go through the same rows (`rows.ts`).
   */
  readonly anchors: readonly NodeId[];
  /** All nodes that are computed inside, ascending. Cheap ones may be members of several groups. */
  readonly members: readonly NodeId[];
  /**
   * The values from outside that the kernel reads from memory: never a view, always what it views, and
   * no number that is part of the code.
   */
  readonly reads: readonly Value[];
  /** The results that go to memory. */
  readonly writes: readonly Value[];
  /**
   * Those of the results that a reduction writes while it folds, over the domain of what it folds. All
   * other results of reductions and kernels have the domain of the anchors' results.
   */
  readonly beside: readonly Value[];
  /** What is dear to compute and needed in the kernel only: kept for a row that is looked at again. */
  readonly kept: readonly Value[];
  /**
   * For a result, the operands whose memory it may take over: each of their elements is read for the
   * last time before the element of the result at the same index is stored.
   */
  readonly reuses: ReadonlyMap<Value, readonly Value[]>;
}

/** One group for every call that computes something: the program as written. */
export function separate(program: Program): readonly Group[] {
  const groups: Group[] = [];
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind !== 'call' || declarationOf(node.op).lowering.kind === 'view') continue;
    const operands = program.operands(id).map((operand) => viewed(program, operand));
    const reads = new Set(operands.filter((operand) => !isNumber(program, operand)));
    groups.push({
      anchors: [id],
      members: [id],
      reads: [...reads, ...program.sizeReads(id)],
      writes: program.results(id),
      beside: [],
      kept: [],
      reuses: new Map(),
    });
  }
  return groups;
}

/**
 * Groups such that as little as possible goes through memory, and nothing expensive is computed more
 * often than in the program as written. First every point operator is either computed where its result
 * is read or gets a group of its own; then neighbouring groups over one domain are merged.
 */
export function fuse(program: Program): readonly Group[] {
  const costs = new Costs(program);
  return mergeGroups(program, inlinePoints(program, costs), costs);
}
