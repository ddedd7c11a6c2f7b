import type { Attributes } from '../../base/attributes/schema.js';
import type { Dim } from '../../base/dim/index.js';
import type { DType } from '../../base/dtype.js';
import type { Tensor, TensorType } from '../../ir/types.js';
import { i32 } from '../../loop/language/build.js';
import type { Buffer, Expr, Scalar, Stmt } from '../../loop/language/nodes.js';
import type { Target } from '../../loop/language/target.js';
import type { Scan, ScanContext } from './scan.js';
import type { Scattering } from './scattering.js';
import type { KernelTarget } from '../tuning.js';

/**
 * Lowering of an operator to loops. The compiler decides where values live and what is fused; an operator
 * only defines its elements. Index expressions are i32, one per axis, scalars or vectors of lanes; every
 * function here must accept both, as the constructors of the loop IR do.
 *
 * An index handed to `Access.at` must be in bounds even where a `select` discards the element.
 */
export type Lowering<A = Attributes> =
  | PointLowering<A>
  | ReduceLowering<A>
  | KernelLowering<A>
  | ViewLowering
  | InlineLowering
  | Decomposition<A>
  | ControlLowering<A>;

/** A readable operand: in memory, or computed on the fly by fused producers. */
export interface Access {
  readonly dtype: DType;
  readonly shape: readonly Expr[];
  /** The element at an index, in the compute type of the dtype (`computeScalar`). Pure. */
  at(index: readonly Expr[]): Expr;
  /** The row-major buffer, when the operand lies in memory; else null. */
  readonly buffer: Buffer | null;
}

/** A writable result: in memory, or consumed by fused consumers. */
export interface Sink {
  readonly dtype: DType;
  readonly shape: readonly Expr[];
  /** Stores an element given in the compute type of the dtype. Each element is stored once. */
  store(index: readonly Expr[], value: Expr): Stmt;
  /** The row-major buffer, when the result goes to memory unchanged; else null. */
  readonly buffer: Buffer | null;
}

export interface PointContext<A> {
  readonly attributes: A;
  readonly inputs: readonly Access[];
  readonly inputTypes: readonly TensorType[];
  readonly outputType: { readonly dtype: DType; readonly shape: readonly Expr[] };
  /** The index of the result element. */
  readonly index: readonly Expr[];
  /** The value of a dimension of an attribute, i32. */
  extent(dim: Dim): Expr;
  /** Target of the code; absent where none is made, in exports and estimates. */
  readonly target?: Target;
}

/** Every element of the single result is an expression of its index. Fuses with everything. */
export interface PointLowering<A> {
  readonly kind: 'point';
  /** True when the result at an index depends only on the inputs at that (broadcast) index. */
  readonly elementwise: boolean;
  point(context: PointContext<A>): Expr;
}

/** The elements in row-major order are the input's; only the shape changes. Costs nothing. */
export interface ViewLowering {
  readonly kind: 'view';
  /** True when reads through the view must not move before its position in the program. Default false. */
  readonly isBarrier?: boolean;
}

/** The operator's first region runs on the operands. */
export interface InlineLowering {
  readonly kind: 'inline';
}

/**
 * Runs its regions any number of times, or one of them. Executors use this form, never the operator's name;
 * the operators' declarations define the operands and results.
 */
export type ControlLowering<A> =
  | { readonly kind: 'foreach'; loop(attributes: A): ForeachForm }
  | { readonly kind: 'while'; loop(attributes: A): WhileForm }
  | { readonly kind: 'branch' };

/** Operands: data, states, captures, the count if there is one. The operator has attributes of these names. */
export interface ForeachForm {
  readonly data: number;
  readonly states: number;
  readonly reverse: boolean;
  readonly counted: boolean;
  /** The number of results, from the first on, that are joined in place of stacked. */
  readonly joined: number;
  /** Prefer recomputation to memory that grows with the number of rows. */
  readonly preferRecompute: boolean;
}

/** Operands: states, captures. Regions: condition, body. The operator has attributes of these names. */
export interface WhileForm {
  readonly states: number;
  readonly limit: Dim | null;
  readonly padded: boolean;
  /** As in `ForeachForm`. */
  readonly joined: number;
}

export interface ReduceContext<A> {
  readonly attributes: A;
  readonly inputDType: DType;
  readonly outputDTypes: readonly DType[];
  /** Number of elements that are folded into one result; i32. */
  readonly count: Expr;
}

/**
 * Folds the first input over axes. The state is one or more scalars; folding is associative up to rounding,
 * so that the compiler may keep several partial states (lanes, unrolled copies, threads).
 */
export interface ReduceLowering<A> {
  readonly kind: 'reduce';
  /** The axes that are folded, ascending. They are dropped, or kept with size 1, as inferred. */
  axes(attributes: A, rank: number): readonly number[];
  /**
   * Element of a dtype that changes no result: folds of parts, some of them filled up with it, are folded to the same
   * result, up to rounding. Default: a fold cannot be computed from the results of parts.
   */
  neutral?(dtype: DType): number | bigint;
  /** The neutral state; its types fix the state's types (one lane). */
  initial(context: ReduceContext<A>): readonly Expr[];
  /** The state after one more element; `position` is its row-major number among the folded ones. */
  step(
    state: readonly Expr[],
    element: Expr,
    position: Expr,
    context: ReduceContext<A>,
  ): readonly Expr[];
  /** Joins two partial states. */
  combine(a: readonly Expr[], b: readonly Expr[], context: ReduceContext<A>): readonly Expr[];
  /** The results, one per output, in the compute type of their dtypes. */
  finish(state: readonly Expr[], context: ReduceContext<A>): readonly Expr[];
}

export interface KernelContext<A> {
  readonly attributes: A;
  readonly inputs: readonly Access[];
  readonly outputs: readonly Sink[];
  readonly inputTypes: readonly TensorType[];
  readonly outputTypes: readonly TensorType[];
  /** The value of a dimension of an attribute or a type, i32. */
  extent(dim: Dim): Expr;
  readonly target: KernelTarget;
  /** True when several threads run the kernel, which then divides its results by parallel ranges (`overRange`). */
  readonly isDivided: boolean;
  /**
   * Scratch memory of at least `length` elements, uninitialized, for the duration of the kernel; each thread
   * has its own.
   */
  scratch(name: string, dtype: DType, length: Expr): Buffer;
  /**
   * Allocator of memory for data derived from the operand that the kernel `keeps`, so that it is reused while
   * the operand stays the same; null where the operand changes in every run.
   */
  readonly keeper: PackedAllocator | null;
}

/** Allocator of memory that outlives a run of a kernel. */
export interface PackedAllocator {
  /** True when data is kept in every run: the kernel is called in a loop with an invariant operand. */
  readonly isCertain: boolean;
  /** To be called once. */
  keep(name: string, dtype: DType, room: PackedSize): PackedMemory;
}

/** Sizes of kept memory, in elements. */
export interface PackedSize {
  /** Size for all of the data. */
  readonly whole: number;
  /** Size that a thread needs at least, when nothing is kept. */
  readonly part: number;
}

/** Memory in which a kernel finds data from an earlier run. */
export interface PackedMemory {
  /** Shared by all threads when data is kept; otherwise per thread. */
  readonly buffer: Buffer;
  /** An i32, one of `keptStates`. */
  readonly state: Expr;
  /** Copied from its keeper. */
  readonly isCertain: boolean;
}

/** States of kept memory. */
export const packedStates = {
  /** There is room for a part, which is lost when the kernel ends. */
  nothing: 0,
  /** There is room for all of the data, which has yet to be computed. */
  empty: 1,
  /** All of the data is there. */
  full: 2,
} as const;

/**
 * Most operands of one kernel. Engines limit the parameters of a function to a thousand, and a kernel with
 * separate code for each operand takes long to compile.
 */
export const mostOperands = 512;

/**
 * A custom loop nest, for operators that are neither points nor reductions. `kernel` is the definition: it runs on devices
 * that have no kernel for the operator (`kernels.ts`), and must write every element. The compiler relies on the other
 * facets for the kernels of all devices.
 */
export interface KernelLowering<A> {
  readonly kind: 'kernel';
  /**
   * True when kernels adapt to the memory order of their operands, and read each element about once: then a
   * transposition or another rearrangement before them is not materialized but read through. Default false.
   */
  readonly readsAnyOrder?: boolean;
  /**
   * The operand whose buffer the one result may reuse, if nothing else reads it: where both are one buffer,
   * the kernel writes only the elements that differ. None when absent.
   */
  readonly overwrites?: number;
  /** The axis along which the result is its operands, one behind another, and nothing else. None when absent. */
  joinedAxis?(attributes: A, rank: number): number;
  /** The operand from which the kernel may `keep` derived data. None when absent. */
  readonly keeps?: number;
  /** Splits a call of more than `mostOperands` into calls of fewer. None when absent. */
  divided?<T extends Tensor>(context: DecomposeContext<T, A>): readonly T[];
  /** The scan that the kernel runs, from which devices make kernels of their own. None when absent. */
  scan?(context: ScanContext<A>): Scan;
  /** The scatter that the kernel runs, from which devices make kernels of their own. None when absent. */
  scatter?(context: KernelContext<A>): Scattering;
  kernel(context: KernelContext<A>): Stmt;
}

export interface DecomposeContext<T extends Tensor, A> {
  readonly attributes: A;
  readonly inputs: readonly T[];
  readonly outputTypes: readonly TensorType[];
}

/** Expansion into other operators. */
export interface Decomposition<A> {
  readonly kind: 'decompose';
  decompose<T extends Tensor>(context: DecomposeContext<T, A>): readonly T[];
}

/** The compute type of a dtype's elements. */
export function computeScalar(dtype: DType): Scalar {
  switch (dtype) {
    case 'float64':
      return 'f64';
    case 'int64':
      return 'i64';
    case 'bool':
      return 'bool';
    case 'float32':
    case 'float16':
    case 'bfloat16':
      return 'f32';
    case 'int8':
    case 'uint8':
    case 'int32':
      return 'i32';
  }
}

/** A point lowering that applies `f` to the operands at the (broadcast) index. */
export function elementwise<A = Attributes>(
  f: (operands: readonly Expr[], context: PointContext<A>) => Expr,
): PointLowering<A> {
  return {
    kind: 'point',
    elementwise: true,
    point: (context) =>
      f(
        context.inputs.map((input) => input.at(broadcastIndex(input, context))),
        context,
      ),
  };
}

/** The index into an operand whose axes are aligned with the result's from the right, size 1 repeating. */
export function broadcastIndex<A>(input: Access, context: PointContext<A>): Expr[] {
  const offset = context.index.length - input.shape.length;
  return input.shape.map((extent, axis) => {
    const repeats = extent.kind === 'const' && extent.value === 1;
    return repeats ? i32(0) : context.index[offset + axis];
  });
}
