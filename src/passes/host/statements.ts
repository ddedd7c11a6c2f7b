import type { Dim } from '../../base/dim/index.js';
import type { DType } from '../../base/dtype.js';
import type { CallNode, Program } from '../../ir/program.js';
import type { Refusal, Words } from '../../ir/requirement.js';
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
  /** How many elements come before them. Default 0. */
  readonly offset?: Dim;
}

/** A comparison with zero. */
export interface Test {
  readonly dim: Dim;
  readonly relation: '=' | '>=';
}

/** Where in a loop or branch something happens, for errors. */
export interface Site {
  readonly where: Words;
  readonly call: CallNode;
}

/** Upper bound of a name, in names that have a value where it gets its first one; null where there is none. */
export interface Bound {
  readonly most: Dim | null;
  /** The call that decides the value, for errors. */
  readonly call: CallNode;
}

/** A new name for an integer. `bound` holds for the values that `assign` and `grow` give it, too. */
export interface SetName {
  readonly kind: 'set';
  readonly name: string;
  readonly value: Dim;
  readonly bound?: Bound;
}

/** Another integer for a name. */
export interface Assign {
  readonly kind: 'assign';
  readonly name: string;
  readonly value: Dim;
}

export type Loaded = 'bool' | 'int32' | 'int64';

/** A new name for an element. */
export interface Load<A> {
  readonly kind: 'load';
  readonly name: string;
  readonly from: A;
  readonly dtype: Loaded;
  readonly bound?: Bound;
}

/** An integer as an element of int32. */
export interface Store<A> {
  readonly kind: 'store';
  readonly to: A;
  readonly value: Dim;
}

/** Where the test fails, the run ends with an error. */
export interface Require {
  readonly kind: 'require';
  readonly test: Test;
  readonly refusal: Refusal;
}

/** Runs its body until a `leave` in it ends it. */
export interface Repeat<S> {
  readonly kind: 'repeat';
  readonly body: readonly S[];
}

/** Ends the innermost repetition. */
export interface Leave {
  readonly kind: 'leave';
  readonly when: Test;
}

export interface Choose<S> {
  readonly kind: 'choose';
  readonly when: Test;
  readonly consequent: readonly S[];
  readonly alternate: readonly S[];
}

/** An array of rows. */
export interface Stack {
  readonly of: Handle;
  /** The shape of one row. */
  readonly row: readonly Dim[];
}

/** Memory for arrays of so many rows each; what is in it nobody knows. */
export interface Allocate {
  readonly kind: 'allocate';
  readonly stacks: readonly Stack[];
  readonly rows: Dim;
}

/**
 * Memory for another number of rows in arrays that were allocated together, and last. The first `kept` stay as they
 * are; `rows`, the name of the number of rows that they were allocated with, has the new value afterwards.
 */
export interface Grow {
  readonly kind: 'grow';
  readonly stacks: readonly Stack[];
  readonly rows: string;
  readonly to: Dim;
  readonly kept: Dim;
}

/** Memory behind the first `rows` of arrays is not needed any more. */
export interface Trim {
  readonly kind: 'trim';
  readonly stacks: readonly Stack[];
  readonly rows: Dim;
}

export interface Copy {
  readonly kind: 'copy';
  readonly to: Stretch;
  readonly from: Stretch;
}

/** Elements become zero. */
export interface Clear {
  readonly kind: 'clear';
  readonly at: Stretch;
}

/** Refuses elements that a call, all of whose sizes are known here, would refuse eagerly. */
export interface CheckElements {
  readonly kind: 'check';
  readonly call: CallNode;
  readonly types: readonly TensorType[];
  readonly elements: Stretch;
}

/** A program without cuts: all of its sizes are known when it starts. */
export interface Part {
  readonly name: string;
  readonly program: Program;
}

/** Runs code. Every result is an array of its own. */
export interface Run {
  readonly kind: 'run';
  readonly part: Part;
  readonly reads: readonly Stretch[];
  readonly gives: readonly Handle[];
}

/** A program that another calls. */
export interface Callee {
  readonly program: Program;
  /** `region` for one of the user's, `chunk` for several iterations of a loop. */
  readonly kind: 'region' | 'chunk';
  /** Whether a run may not come to it. */
  readonly isOptional: boolean;
}

/** Where a result of a call goes. */
export type Result =
  /** Over the elements of an array that is there. */
  | { readonly kind: 'into'; readonly to: Stretch }
  /** An array of its own; where `extents` has a name, it is set to the size of that axis. */
  | { readonly kind: 'own'; readonly as: Handle; readonly extents: readonly (string | null)[] };

/** Runs another program, which may have cuts. What it reads is read before any result is written. */
export interface Call {
  readonly kind: 'call';
  readonly callee: Callee;
  readonly operands: readonly Stretch[];
  readonly results: readonly Result[];
  readonly site: Site;
}

/** Nobody reads these any more. */
export interface Drop {
  readonly kind: 'drop';
  readonly handles: readonly Handle[];
}

/** A statement of the host program. */
export type HostStatement =
  | SetName
  | Assign
  | Load<Stretch>
  | Store<Stretch>
  | Require
  | Repeat<HostStatement>
  | Leave
  | Choose<HostStatement>
  | Allocate
  | Grow
  | Trim
  | Copy
  | Clear
  | CheckElements
  | Run
  | Call
  | Drop;

/** What the host does for one program. */
export interface Routine {
  readonly program: Program;
  readonly inputs: readonly Handle[];
  readonly constants: ReadonlyMap<Handle, ConstantData>;
  readonly body: readonly HostStatement[];
  readonly outputs: readonly Stretch[];
  /** An array without elements, whose shape tells sizes. */
  readonly nothing: Handle;
  /** The number of its handles. */
  readonly handles: number;
  /** All names in it, and those of the sizes that the program speaks of. */
  readonly names: ReadonlySet<string>;
}
