import type { NodeId } from '../../graph/graph.js';
import type { Value } from '../../ir/program.js';

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
