/**
 * The loop IR: the one kernel language. A module is kernels; a kernel is statements over typed
 * expressions, memory is flat buffers, addressing is in elements.
 *
 * Expressions are immutable and may share sub-expressions (a DAG). They are built only by the checked
 * constructors of `build.ts`; what each node means is defined by `interpret.ts`.
 */

/** Types of computed values. Memory holds more (`Storage`); loads and stores convert. */
export type Scalar = 'f32' | 'f64' | 'i32' | 'i64' | 'bool';

/** Element kinds of memory: `i8`, `u8`, `u16` load as i32 and store their low bits. */
export type ElementKind = 'f32' | 'f64' | 'i32' | 'i64' | 'i8' | 'u8' | 'u16';

export interface ExprType {
  readonly scalar: Scalar;
  /** 1 for a scalar, else the number of vector lanes. */
  readonly lanes: number;
}

export type UnaryOp = 'neg' | 'abs' | 'sqrt' | 'floor' | 'ceil' | 'trunc' | 'nearest' | 'not';

/**
 * `div` and `rem` on integers truncate, and must never see a zero divisor or overflow.
 * Float `min` and `max` propagate NaN and order -0 below +0. `shr` keeps the sign, `shrU` does not;
 * shift counts are taken modulo the width. `and`, `or`, `xor` work on integers and on bool.
 *
 * Integers wrap, with one promise that the author of a kernel makes: where an i32 sum or product of
 * nothing but loop variables, parameters and constants is divided or compared, it has not overflowed
 * (a constant shift to the left counts as a product).
 * Indices are such sums; the promise is what lets `(i * n + j) / n` become `i`.
 */
export type ArithmeticOp =
  | 'add' | 'sub' | 'mul' | 'div' | 'rem' | 'min' | 'max'
  | 'and' | 'or' | 'xor' | 'shl' | 'shr' | 'shrU'; // prettier-ignore
export type CompareOp = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge';
export type BinaryOp = ArithmeticOp | CompareOp;

export interface Const {
  readonly kind: 'const';
  readonly type: ExprType;
  /** i64 values are bigint, bool is 0 or 1. Lanes all hold this value. */
  readonly value: number | bigint;
}

/** A local: a loop variable, a let, or a mutable accumulator. Identity is the object. */
export interface Var {
  readonly kind: 'var';
  readonly type: ExprType;
  /** For reading; printers make it unique. */
  readonly name: string;
}

export interface UnaryExpr {
  readonly kind: 'unary';
  readonly type: ExprType;
  readonly op: UnaryOp;
  readonly x: Expr;
}

export interface BinaryExpr {
  readonly kind: 'binary';
  readonly type: ExprType;
  readonly op: BinaryOp;
  readonly a: Expr;
  readonly b: Expr;
}

/** `condition ? a : b`, lane by lane. Both sides are evaluated: loads in them must be in bounds. */
export interface Select {
  readonly kind: 'select';
  readonly type: ExprType;
  readonly condition: Expr;
  readonly a: Expr;
  readonly b: Expr;
}

/**
 * A change of scalar type. Float to integer truncates, saturates, and maps NaN to 0; i64 to i32 keeps
 * the low bits; anything to bool is `x != 0`; bool to a number is 0 or 1.
 */
export interface CastExpr {
  readonly kind: 'cast';
  readonly type: ExprType;
  readonly x: Expr;
}

/** The same bits as another type of equal width: f32 and i32, or f64 and i64. */
export interface Bitcast {
  readonly kind: 'bitcast';
  readonly type: ExprType;
  readonly x: Expr;
}

/**
 * Reads elements; the lanes of `index` are the lanes of the result. Indices are i32; a single one may be i64, for
 * buffers that are all of a memory of more than 4 GiB.
 */
export interface Load {
  readonly kind: 'load';
  readonly type: ExprType;
  readonly buffer: Buffer;
  readonly index: Expr;
}

/** `base, base + stride, base + 2 * stride, ...`; i32. */
export interface Ramp {
  readonly kind: 'ramp';
  readonly type: ExprType;
  readonly base: Expr;
  readonly stride: Expr;
}

/** A scalar in every lane. */
export interface Broadcast {
  readonly kind: 'broadcast';
  readonly type: ExprType;
  readonly x: Expr;
}

/** One lane of a vector, as a scalar. */
export interface Extract {
  readonly kind: 'extract';
  readonly type: ExprType;
  readonly x: Expr;
  readonly lane: number;
}

export type Expr =
  | Const | Var | UnaryExpr | BinaryExpr | Select | CastExpr | Bitcast | Load | Ramp | Broadcast | Extract; // prettier-ignore

/** A parameter that points at memory. Distinct buffers of one kernel never overlap if one is written. */
export interface Buffer {
  readonly kind: 'buffer';
  readonly name: string;
  readonly storage: ElementKind;
  /** Memory that each member of a team has for itself, for the length of the kernel. */
  readonly isPrivate: boolean;
}

export interface BlockStmt {
  readonly kind: 'block';
  readonly body: readonly Stmt[];
}

/**
 * `for (variable = begin; variable < end; variable += step)`; the variable is i32, the step a positive
 * constant. The bounds are evaluated once, before the first iteration. `vector` asks `vectorize` to turn
 * iterations into lanes; `unroll` wants straight-line code.
 */
export interface For {
  readonly kind: 'for';
  readonly variable: Var;
  readonly begin: Expr;
  readonly end: Expr;
  readonly step: number;
  readonly mode: 'serial' | 'vector' | 'unroll';
  readonly body: Stmt;
}

/**
 * Divides `begin..end` among the members of the team that runs the kernel, in stretches of whole `step`s, and runs the
 * body for the member's own: `from..to`, which may be empty. Alike ranges are divided alike wherever they are.
 *
 * Every member runs what stands outside of ranges, and members run at the same time, in any order: so shared memory is
 * stored to inside of ranges only, each place by one stretch, and no stretch reads what another one stores.
 */
export interface Parallel {
  readonly kind: 'parallel';
  readonly from: Var;
  readonly to: Var;
  readonly begin: Expr;
  readonly end: Expr;
  readonly step: number;
  readonly body: Stmt;
}

/** Memory of a workgroup: `length` elements that its invocations share. */
export interface WorkgroupMemory {
  readonly buffer: Buffer;
  readonly length: number;
}

/**
 * Runs its body for each of `count` workgroups, by `size` invocations each: `group` and `invocation` number them. Groups
 * run in any order and at the same time, and so do the invocations of a group between two of its barriers. Memory of a
 * group lasts as long as the group runs; at first nothing is in it.
 */
export interface Workgroups {
  readonly kind: 'workgroups';
  readonly group: Var;
  readonly invocation: Var;
  readonly count: Expr;
  readonly size: number;
  readonly memory: readonly WorkgroupMemory[];
  readonly body: Stmt;
}

/**
 * Every invocation of a workgroup arrives here before one goes on, and sees what the others have stored until then. It
 * is in uniform control flow: all invocations take the same branches and iterations around it.
 */
export interface WorkgroupBarrier {
  readonly kind: 'workgroup barrier';
}

export interface While {
  readonly kind: 'while';
  readonly condition: Expr;
  readonly body: Stmt;
}

export interface If {
  readonly kind: 'if';
  readonly condition: Expr;
  readonly consequent: Stmt;
  readonly alternate: Stmt | null;
}

/** Introduces a local for the rest of the enclosing block. */
export interface Declare {
  readonly kind: 'declare';
  readonly variable: Var;
  readonly value: Expr;
}

export interface Assign {
  readonly kind: 'assign';
  readonly variable: Var;
  readonly value: Expr;
}

export interface Store {
  readonly kind: 'store';
  readonly buffer: Buffer;
  readonly index: Expr;
  readonly value: Expr;
}

/** Runs another kernel of the module. An argument for a buffer is its byte address, an unsigned i32 or an i64. */
export interface CallStmt {
  readonly kind: 'call';
  readonly kernel: Kernel;
  readonly args: readonly Expr[];
}

/**
 * Every thread of a team arrives here before one goes on, and sees what the others have stored until then.
 * Where one of them has failed, the kernel ends here. `meeting` is memory of the team alone (`team.ts`).
 */
export interface Barrier {
  readonly kind: 'barrier';
  readonly meeting: Buffer;
  /** The number of this thread, and of all. */
  readonly thread: Expr;
  readonly threads: Expr;
}

export type Stmt =
  | BlockStmt | For | Parallel | Workgroups | While | If | Declare | Assign | Store | CallStmt | Barrier
  | WorkgroupBarrier; // prettier-ignore

export interface Kernel {
  readonly kind: 'kernel';
  readonly name: string;
  readonly params: readonly (Buffer | Var)[];
  readonly body: Stmt;
  /** True for a kernel that whoever runs the module provides; the interpreter runs its body. Default false. */
  readonly isExternal?: true;
}

/** Kernels in an order in which each calls only earlier ones. All are exported by name. */
export interface Module {
  readonly kind: 'module';
  readonly kernels: readonly Kernel[];
}
