import type { DType } from '../../base/dtype.js';
import type { Expr } from '../../loop/language/nodes.js';

/**
 * A scan along one axis: a state is carried from element to element, and results are computed from it on the
 * way.
 */
export interface Scan {
  readonly axis: number;
  /** Iterate from the last element to the first. */
  readonly reverse: boolean;
  /** Results see the state before the element instead of after it. */
  readonly exclusive: boolean;
  /** The initial state, and the dtypes that hold its parts. */
  readonly initial: readonly Expr[];
  readonly dtypes: readonly DType[];
  /** The state after the element at an index; `isFirst` holds for the first iteration. */
  step(state: readonly Expr[], index: readonly Expr[], isFirst: Expr): readonly Expr[];
  /** The results, one per output, in the compute types of their dtypes. */
  finish(state: readonly Expr[]): readonly Expr[];
  /**
   * A renormalized state, in locals, for kernels that sum with less error than in plain order. Default: none is
   * needed.
   */
  renew?(state: readonly Expr[]): readonly Expr[];
}
