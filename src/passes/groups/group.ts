import type { NodeId } from '../../graph/graph.js';
import type { Value } from '../../ir/program.js';

/** Nodes that become one kernel. */
export interface Group {
  /**
   * The nodes that determine the loops: one, or several reductions in one nest, which may depend on each
   * other if they share rows (`rows.ts`).
   */
  readonly anchors: readonly NodeId[];
  /** All nodes that are computed inside, ascending. Cheap ones may be members of several groups. */
  readonly members: readonly NodeId[];
  /**
   * The outside values that the kernel reads from memory: never a view, always the viewed value, and no
   * constant that is part of the code.
   */
  readonly reads: readonly Value[];
  /** The results that go to memory. */
  readonly writes: readonly Value[];
  /**
   * Results that a reduction writes while it folds, over the domain of its input. All other results of
   * reductions and kernels have the domain of the anchors' results.
   */
  readonly beside: readonly Value[];
  /** Expensive values that only the kernel needs: kept for later passes over the row. */
  readonly kept: readonly Value[];
  /**
   * For a result, the operands whose buffer it may reuse: each of their elements is read for the last time
   * before the result's element at the same index is stored.
   */
  readonly reuses: ReadonlyMap<Value, readonly Value[]>;
}
