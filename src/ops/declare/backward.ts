import type { Program } from '../../ir/program.js';

/*
 * How operators that own programs are differentiated: what their gradients say of those programs, and
 * what they are handed in return. The passes derive it.
 */

/**
 * Source of a size in a region: the extent of an input or output along an axis, which are numbered like
 * `BackwardAfter.reads`, or at place -1 one of the size parameters of the region.
 */
export interface SizeSource {
  readonly place: number;
  readonly axis: number;
}

/** A backward program that reads inputs and outputs of a region. */
export interface BackwardAfter {
  readonly program: Program;
  /** Values read before the gradients: k is input k of the region, the number of inputs plus k is output k. */
  readonly reads: readonly number[];
  /** The sizes that it is passed. */
  readonly sizes: readonly SizeSource[];
  /** The inputs of the region whose gradients it computes; others have none. */
  readonly gives: readonly number[];
}

/** Values that a loop saves for its backward pass in each iteration; `none`: the carried states only. */
export type LoopSave = 'all' | 'none' | 'auto';

/** One iteration of a loop, with the facts that differentiation needs. */
export interface LoopStep {
  /** Takes slices of data, states, captures; returns rows of stacked results, new states. */
  readonly body: Program;
  readonly slices: number;
  readonly states: number;
  /** The number of results, from the first on, that are joined in place of stacked. */
  readonly joined: number;
  /** Data, initial states and captures that need a gradient. */
  readonly needs: readonly boolean[];
  /** Stacked results and final states that have a gradient. */
  readonly flows: readonly boolean[];
  readonly save: LoopSave;
  /** True when the rows of earlier iterations lie next to those of later ones, and the first at an end. */
  readonly canShift: boolean;
}

/**
 * The backward loop: it runs over the rows that the forward loop stacked, from the last iteration to the
 * first.
 */
export interface LoopBackward {
  /** The body, with saved values as additional rows after its own. */
  readonly augmented: Program;
  /**
   * Number of saved rows; when zero, the body is unchanged. The last ones count the joined rows of `flows`, one int32
   * each.
   */
  readonly saved: number;
  /** Bytes saved in each iteration; approximate where sizes are symbolic. */
  readonly rowBytes: number;
  /**
   * The body of the backward loop. Its data: slices, rows, states before the iterations, saved rows, the gradients of
   * stacked rows, and where the joined rows of each iteration begin; its states: gradients of states, and accumulated
   * gradients of captures; then captures, and the gradients of joined rows. It returns the gradients of slices.
   */
  readonly backward: Program;
  readonly reads: {
    readonly slices: readonly number[];
    readonly rows: readonly number[];
    /** States that are rows as well: those of earlier iterations are the rows shifted by one. */
    readonly before: readonly { readonly state: number; readonly row: number }[];
    readonly captures: readonly number[];
  };
  /** The sizes that `backward` is passed: those of the body's operands and parameters, by their names there. */
  readonly sizes: readonly string[];
  readonly flows: {
    /** Of stacked results. */
    readonly rows: readonly number[];
    /** Of joined results: an iteration reads the part of their gradients that belongs to its rows. */
    readonly joined: readonly number[];
    readonly states: readonly number[];
  };
  readonly gives: { readonly slices: readonly number[]; readonly captures: readonly number[] };
}

/** Two branches, with the facts that differentiation needs. */
export interface Branches {
  readonly branches: readonly [Program, Program];
  /** Operands that need a gradient. */
  readonly needs: readonly boolean[];
  /** Results that have a gradient. */
  readonly flows: readonly boolean[];
  /** Results whose type is the same in both branches. */
  readonly isSettled: readonly boolean[];
  /** By branch and result, the axes along which the gradient may have another size than the result of that branch. */
  readonly loose: readonly [readonly Axes[], readonly Axes[]];
}

type Axes = readonly number[];

/** The backward branches: two programs on the same operands, of which the one for the taken branch runs. */
export interface BranchBackward {
  readonly branches: readonly [Program, Program];
  /** Values that both read before the gradients; numbered like `BackwardAfter.reads`. */
  readonly reads: readonly number[];
  /** The operands whose gradients both compute; others have none. */
  readonly gives: readonly number[];
  /** The sizes that both are passed: a size of the operands of one of the branches, by its name there. */
  readonly sizes: readonly BranchSize[];
}

export interface BranchSize {
  readonly branch: 0 | 1;
  readonly name: string;
}
