import type { Dim } from '../../base/dim/index.js';
import type { DType } from '../../base/dtype.js';
import type { CallNode, Program } from '../../ir/program.js';
import type { MessageTemplate, Refusal } from '../../ir/requirement.js';
import type { ConstantData, TensorType } from '../../ir/types.js';

/*
 * The host program: what happens around the kernels of a program whose data decides sizes, or whose loops no kernel
 * can run. The runtime interprets it; modules and C print it. Sizes, counts and positions are integers, written as
 * dimensions over names. Arrays are handles: where one lies in memory is decided by whoever runs the program.
 */

/** Stands for an array of a run. */
export class Handle {
  /** Its number among those of its routine. */
  readonly id: number;
  readonly dtype: DType;

  constructor(id: number, dtype: DType) {
    this.id = id;
    this.dtype = dtype;
  }
}

/** Elements of an array, read as an array of this shape. */
export interface Stretch {
  readonly of: Handle;
  readonly shape: readonly Dim[];
  /** Number of elements that come before them. Default 0. */
  readonly offset?: Dim;
}

/** A comparison with zero. */
export interface ZeroTest {
  readonly dim: Dim;
  readonly relation: '=' | '>=';
}

/** Place in a loop or branch, for errors. */
export interface HostSite {
  readonly where: MessageTemplate;
  readonly call: CallNode;
}

/** Upper bound of a name, in names that have a value where it gets its first one; null where there is none. */
export interface NameBound {
  readonly most: Dim | null;
  /** The call that decides the value, for errors. */
  readonly call: CallNode;
  /** True for iterations of the call, a loop. Default false. */
  readonly isIterations?: boolean;
}

export type LoadedDType = 'bool' | 'int32' | 'int64';

/** Runs its body until a `leave` in it ends it. */
export interface RepeatStatement<S> {
  readonly kind: 'repeat';
  readonly body: readonly S[];
}

export interface ChooseStatement<S> {
  readonly kind: 'choose';
  readonly when: ZeroTest;
  readonly consequent: readonly S[];
  readonly alternate: readonly S[];
}

/** Statements of integers, for elements `A`. */
export type IntegerStatement<A> =
  /** A new name for an integer. `bound` holds for the values that `assign` and `grow` give it, too. */
  | { readonly kind: 'set'; readonly name: string; readonly value: Dim; readonly bound?: NameBound }
  /** Another integer for a name. */
  | { readonly kind: 'assign'; readonly name: string; readonly value: Dim }
  /** A new name for an element. */
  | {
      readonly kind: 'load';
      readonly name: string;
      readonly from: A;
      readonly dtype: LoadedDType;
      readonly bound?: NameBound;
    }
  /** An integer as an element of int32. */
  | { readonly kind: 'store'; readonly to: A; readonly value: Dim }
  /** Ends the run with an error if the test fails. */
  | { readonly kind: 'require'; readonly test: ZeroTest; readonly refusal: Refusal }
  /** Ends the innermost repetition. */
  | { readonly kind: 'leave'; readonly when: ZeroTest };

/** An array of rows. */
export interface StackedArray {
  readonly of: Handle;
  /** The shape of one row. */
  readonly row: readonly Dim[];
}

/** A program without cuts: all of its sizes are known when it starts. */
export interface HostPart {
  readonly name: string;
  readonly program: Program;
  /** True if it runs elsewhere than the other parts (`CallPlacement`). */
  readonly isElsewhere: boolean;
}

/** A program that another calls. It may have cuts. */
export interface HostCallee {
  readonly program: Program;
  /** `region` for one of the user's, `chunk` for several iterations of a loop. */
  readonly kind: 'region' | 'chunk';
  /** True if there are runs that do not call it. */
  readonly isOptional: boolean;
}

/** Destination of a result of a call. */
export type HostResult =
  /** Over the elements of an array that is there. */
  | { readonly kind: 'into'; readonly to: Stretch }
  /** An array of its own; where `extents` has a name, it is set to the size of that axis. */
  | { readonly kind: 'own'; readonly as: Handle; readonly extents: readonly (string | null)[] };

/** A statement of the host program. */
export type HostStatement =
  | IntegerStatement<Stretch>
  | RepeatStatement<HostStatement>
  | ChooseStatement<HostStatement>
  /** Memory for arrays of so many rows each; their elements are undefined. */
  | { readonly kind: 'allocate'; readonly stacks: readonly StackedArray[]; readonly rows: Dim }
  /**
   * Memory for `to` rows, where `needed` are more than there is memory for, in arrays that were allocated together, and
   * last but for results of a call. The first `kept` stay as they are; `rows`, the name of the number of rows that they
   * were allocated with, has the new value afterwards.
   */
  | {
      readonly kind: 'grow';
      readonly stacks: readonly StackedArray[];
      readonly rows: string;
      readonly needed: Dim;
      readonly to: Dim;
      readonly kept: Dim;
    }
  /** Memory behind the first `rows` of arrays is not needed any more. */
  | { readonly kind: 'trim'; readonly stacks: readonly StackedArray[]; readonly rows: Dim }
  | { readonly kind: 'copy'; readonly to: Stretch; readonly from: Stretch }
  /** Elements become zero. */
  | { readonly kind: 'clear'; readonly at: Stretch }
  /** Refuses elements that a call, all of whose sizes are known here, would refuse eagerly. */
  | {
      readonly kind: 'check';
      readonly call: CallNode;
      readonly types: readonly TensorType[];
      readonly elements: Stretch;
    }
  /** Runs code. Every result is an array of its own. */
  | {
      readonly kind: 'run';
      readonly part: HostPart;
      readonly reads: readonly Stretch[];
      /** The sizes that it is passed. */
      readonly sizes: readonly Dim[];
      readonly gives: readonly Handle[];
    }
  /** Runs another program. What it reads is read before any result is written. */
  | {
      readonly kind: 'call';
      readonly callee: HostCallee;
      readonly operands: readonly Stretch[];
      /** The sizes that it is passed. */
      readonly sizes: readonly Dim[];
      readonly results: readonly HostResult[];
      readonly site: HostSite;
    }
  /** These are not read any more. */
  | { readonly kind: 'drop'; readonly handles: readonly Handle[] };

/** Statements of one kind. */
export type HostStatementOf<K extends HostStatement['kind']> = Extract<
  HostStatement,
  { readonly kind: K }
>;

/** The host program of one program. */
export interface HostRoutine {
  readonly program: Program;
  readonly inputs: readonly Handle[];
  readonly constants: ReadonlyMap<Handle, ConstantData>;
  readonly body: readonly HostStatement[];
  readonly outputs: readonly Stretch[];
  /** All names in it, and those of the sizes that the program speaks of. */
  readonly names: ReadonlySet<string>;
}
