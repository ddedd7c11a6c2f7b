import type { Expr, Stmt, Var } from '../../loop/language/nodes.js';
import type { Fold, FoldLoops, FoldStage } from './fold.js';
import type { NestPlan } from './nest.js';

/** The locals that hold a complete state, and the statements that compute it. */
export interface FoldedState {
  readonly total: readonly Var[];
  readonly statements: readonly Stmt[];
}

/** The work of one invocation for a row, the elements that are folded into one result. */
export interface RowWork {
  /** Indices of the row in the loops over kept axes. */
  readonly keptAt: readonly Expr[];
  /** True for the invocation that stores results of the row; null where one invocation has the whole row. */
  readonly isFirst: Expr | null;
  /** One pass over the elements, after which every invocation of the row has the complete state. */
  fold(stage: FoldStage): FoldedState;
}

/** Rows that are folded several times, each as often as it takes. */
export interface RowNest {
  /** Number of invocations that look at one row, a power of two: each at the elements that it looked at before. */
  readonly invocations: number;
  /** Neighbors that an invocation looks at together, a power of two: rows are divided into as many each. */
  readonly together: number;
  /** The loops over rows. */
  over(frame: FoldLoops, row: (work: RowWork) => Stmt): Stmt;
}

/** Extents of the loops of a fold; `isRow`: the innermost of them is folded. */
export interface FoldExtents {
  readonly folded: readonly Expr[];
  readonly kept: readonly Expr[];
  readonly isRow: boolean;
}

/**
 * The loops of a device around what a group of nodes computes. With `isDivided` they have ranges for several members,
 * where there is something to divide.
 */
export interface NestSchedule {
  /** Every point of a domain on its own. */
  points(plan: NestPlan, body: (at: readonly Expr[]) => Stmt, isDivided: boolean): Stmt;
  /** Reductions over the same axes of one domain. */
  folds(fold: Fold, isDivided: boolean): Stmt;
  /** Reductions of rows that depend on each other; `stateBytes` is asked for the largest state of a pass. */
  rows(extents: FoldExtents, stateBytes: () => number, isDivided: boolean): RowNest;
}
