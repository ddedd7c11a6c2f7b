import type { Program } from '../../ir/program.js';

/*
 * How operators that own programs are differentiated: what their gradients say of those programs, and
 * what they are handed in return. The passes derive it.
 */

/** A backward program that reads what a region was given and what it gave. */
export interface BackwardAfter {
  readonly program: Program;
  /** Its inputs before the gradients: k is input k of the region, their number plus k is output k. */
  readonly reads: readonly number[];
  /** The inputs of the region whose gradients it computes; nothing flows to the others. */
  readonly gives: readonly number[];
}

/** What a loop keeps of each iteration for its backward pass; `none`: the carried states only. */
export type LoopSave = 'all' | 'none' | 'auto';

/** One iteration of a loop, and what is to be known of it. */
export interface LoopStep {
  /** Takes slices of data, states, captures; gives rows of stacked results, new states. */
  readonly body: Program;
  readonly slices: number;
  readonly states: number;
  /** Which data, first states and captures need a gradient. */
  readonly needs: readonly boolean[];
  /** Which stacked results and last states have one. */
  readonly flows: readonly boolean[];
  readonly save: LoopSave;
  /** Whether the rows of earlier iterations lie one beside those of the later ones, and the first at an end. */
  readonly canShift: boolean;
}

/**
 * How to go back through a loop: with another loop, over what the first one stacked, from its last
 * iteration to its first.
 */
export interface LoopBackward {
  /** The body, with what backward reads of an iteration as further rows behind its own. */
  readonly augmented: Program;
  /** How many further rows there are; without any, the body is as it was. */
  readonly saved: number;
  /** How many bytes they take in each iteration; approximate where sizes are symbolic. */
  readonly rowBytes: number;
  /**
   * The body of the loop back. Its data: slices, rows, states before the iterations, the further rows,
   * and the gradients of rows; its states: gradients of states, and those of captures so far; then
   * captures. It gives the gradients of slices.
   */
  readonly backward: Program;
  readonly reads: {
    readonly slices: readonly number[];
    readonly rows: readonly number[];
    /** States that are rows as well: the rows of earlier iterations are those before this one. */
    readonly before: readonly { readonly state: number; readonly row: number }[];
    readonly captures: readonly number[];
  };
  readonly flows: { readonly rows: readonly number[]; readonly states: readonly number[] };
  readonly gives: { readonly slices: readonly number[]; readonly captures: readonly number[] };
}

/** Two programs of which one runs, and what is to be known of them. */
export interface Branches {
  readonly branches: readonly [Program, Program];
  /** Which operands need a gradient. */
  readonly needs: readonly boolean[];
  /** Which results have one. */
  readonly flows: readonly boolean[];
  /** Which results are of the same type whichever branch made them. */
  readonly isSettled: readonly boolean[];
  /** By branch and result, the axes whose size in that branch is not what the result's type says. */
  readonly loose: readonly [readonly Axes[], readonly Axes[]];
}

type Axes = readonly number[];

/** How to go back through the branch that ran: with one of two programs on the same operands. */
export interface BranchBackward {
  readonly branches: readonly [Program, Program];
  /** What both read before the gradients; numbered like `BackwardAfter.reads`. */
  readonly reads: readonly number[];
  /** The operands whose gradients both give; nothing flows to the others. */
  readonly gives: readonly number[];
}
