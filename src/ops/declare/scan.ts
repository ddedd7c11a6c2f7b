import type { DType } from '../../base/dtype.js';
import type { Expr } from '../../loop/language/nodes.js';
import type { Access, Sink } from './lowering.js';

/** The call whose scan is wanted. */
export interface ScanContext<A> {
  readonly attributes: A;
  readonly inputs: readonly Access[];
  /** Type of the results. */
  readonly result: Pick<Sink, 'dtype' | 'shape'>;
}

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
  /** The same scan for devices that begin in the middle of a row. */
  readonly associative: AssociativeScan;
}

/**
 * A scan of parts of a row whose states are combined. It may round otherwise than element after element, and what leaves
 * the range of a dtype on the way and comes back is not lost.
 */
export interface AssociativeScan {
  /** The state of no elements, neutral on both sides, and the dtypes that hold its parts. */
  readonly initial: readonly Expr[];
  readonly dtypes: readonly DType[];
  /** The state of the one element at an index. */
  element(index: readonly Expr[]): readonly Expr[];
  /** The state of two parts, of which the elements of `a` come first. States are locals. */
  combine(a: readonly Expr[], b: readonly Expr[]): readonly Expr[];
  /** The results, one per output, in the compute types of their dtypes, after a part that begins with the row. */
  finish(state: readonly Expr[]): readonly Expr[];
}
