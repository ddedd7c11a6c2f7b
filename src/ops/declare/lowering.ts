import type { Attributes } from '../../base/attributes/schema.js';
import type { Dim } from '../../base/dim/index.js';
import type { DType } from '../../base/dtype.js';
import type { Tensor, TensorType } from '../../ir/types.js';
import { i32 } from '../../loop/language/build.js';
import type { Buffer, Expr, Scalar, Stmt } from '../../loop/language/nodes.js';
import type { Target } from '../../loop/language/target.js';

/**
 * How an operator becomes loops. The compiler decides where values live and what is fused; an operator
 * only says what its elements are. Index expressions are i32, one per axis, scalars or vectors of lanes;
 * every function here must accept both, which the constructors of the loop IR give for free.
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

/** An operand as it can be read: from memory, or computed on the fly by what was fused before it. */
export interface Access {
  readonly dtype: DType;
  readonly shape: readonly Expr[];
  /** The element at an index, in the compute type of the dtype (`computeScalar`). Pure. */
  at(index: readonly Expr[]): Expr;
  /** The row-major buffer, when the operand lies in memory; else null. */
  readonly buffer: Buffer | null;
}

/** A result as it can be written: to memory, or through what was fused behind it. */
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
  /** The index of the element that is asked for. */
  readonly index: readonly Expr[];
  /** The value of a dimension that an attribute holds, i32. */
  extent(dim: Dim): Expr;
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
  /**
   * True when what reads through the view belongs where it stands in the program: no earlier. Default
   * false.
   */
  readonly isBarrier?: boolean;
}

/** The operator's first region runs on the operands. */
export interface InlineLowering {
  readonly kind: 'inline';
}

/**
 * Runs its regions any number of times, or one of them. What runs a program asks this, never which
 * operator it is; the operators' declarations say what the operands and results mean.
 */
export type ControlLowering<A> =
  | { readonly kind: 'foreach'; loop(attributes: A): ForeachForm }
  | { readonly kind: 'while'; loop(attributes: A): WhileForm }
  | { readonly kind: 'branch' };

/**
 * Operands: data, states, what each iteration reads, the count if there is one. The operator has
 * attributes of these names.
 */
export interface ForeachForm {
  readonly data: number;
  readonly states: number;
  readonly reverse: boolean;
  readonly counted: boolean;
  /** Whether memory that grows with the rows is dearer than time. */
  readonly isFrugal: boolean;
}

/**
 * Operands: states, what each iteration reads. Regions: condition, body. The operator has attributes of
 * these names.
 */
export interface WhileForm {
  readonly states: number;
  readonly limit: Dim | null;
  readonly padded: boolean;
}

export interface ReduceContext<A> {
  readonly attributes: A;
  readonly inputDType: DType;
  readonly outputDTypes: readonly DType[];
  /** How many elements fall into one result; i32. */
  readonly count: Expr;
}

/**
 * Folds the first input over axes. The state is one or more scalars; folding is associative up to
 * rounding, so that the compiler may keep several partial states (lanes, unrolled copies, threads).
 */
export interface ReduceLowering<A> {
  readonly kind: 'reduce';
  /** The axes that are folded, ascending. They are dropped, or kept with size 1, as inferred. */
  axes(attributes: A, rank: number): readonly number[];
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
  readonly target: Target;
  /** Whether several threads run the kernel: then its results are to be divided, by parallel ranges. */
  readonly isDivided: boolean;
  /**
   * Temporary memory of at least `length` elements, uninitialized, for the length of the kernel; each
   * thread has its own.
   */
  scratch(name: string, dtype: DType, length: Expr): Buffer;
  /**
   * Keeps what is made of the operand alone that the kernel `keeps` something of, so that it need not be made again
   * while that stays the same; null where it is another one each time.
   */
  readonly keeper: Keeper | null;
}

/** Gives memory that outlives a run of a kernel. */
export interface Keeper {
  /** Whether something is kept in every run: the kernel is called in a loop in which the operand stays the same. */
  readonly isCertain: boolean;
  /** To be asked for once. */
  keep(name: string, dtype: DType, room: KeptRoom): Kept;
}

/** Elements of kept memory. */
export interface KeptRoom {
  /** All that is kept. */
  readonly whole: number;
  /** What a thread needs at least, where nothing is kept. */
  readonly part: number;
}

/** Memory in which a kernel finds what it made there in an earlier run. */
export interface Kept {
  /** The same for all threads, where something is kept; else each has its own. */
  readonly buffer: Buffer;
  /** An i32, one of `keptStates`. */
  readonly state: Expr;
  /** As its keeper says. */
  readonly isCertain: boolean;
}

/** What a kernel finds in kept memory. */
export const keptStates = {
  /** There is room for a part, which is lost when the kernel ends. */
  nothing: 0,
  /** There is room for everything, which has yet to be made. */
  empty: 1,
  /** Everything is there. */
  full: 2,
} as const;

/**
 * How many operands one kernel takes. Engines limit the parameters of a function to a thousand, and a kernel
 * that treats each operand in code of its own takes long to compile.
 */
export const mostOperands = 512;

/**
 * A loop nest of its own, for what is neither a point nor a reduction. `kernel` is the definition: it runs where a device
 * has no kernel for the operator (`kernels.ts`), and must write every element. The other facets are what the compiler
 * relies on for the kernels of all devices.
 */
export interface KernelLowering<A> {
  readonly kind: 'kernel';
  /**
   * True when kernels adapt to the order in which their operands lie: then a transposition or another rearrangement before it is not carried out but looked
   * through. Default false.
   */
  readonly readsAnyOrder?: boolean;
  /**
   * The operand that the one result may lie over, if nothing else reads it: where both are one buffer, the
   * kernel writes only what differs. None when absent.
   */
  readonly overwrites?: number;
  /** The operand of which the kernel may `keep` what it makes. None when absent. */
  readonly keeps?: number;
  /** Calls of fewer operands that stand for a call of more than `mostOperands`. None when absent. */
  divided?<T extends Tensor>(context: DecomposeContext<T, A>): readonly T[];
  kernel(context: KernelContext<A>): Stmt;
}

export interface DecomposeContext<T extends Tensor, A> {
  readonly attributes: A;
  readonly inputs: readonly T[];
  readonly outputTypes: readonly TensorType[];
}

/** Written in other operators. */
export interface Decomposition<A> {
  readonly kind: 'decompose';
  decompose<T extends Tensor>(context: DecomposeContext<T, A>): readonly T[];
}

/** The compute type in which elements of a dtype are handled. */
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
