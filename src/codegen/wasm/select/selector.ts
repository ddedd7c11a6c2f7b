import { InternalError } from '../../../base/errors.js';
import type { Buffer, Expr, ExprType, Scalar } from '../../../loop/language/nodes.js';
import { scalarBytes } from '../../../loop/language/build.js';
import type { AddressScalar } from '../../../loop/language/target.js';
import type { Immediate, Instr, InstrPool } from '../encoding/instr.js';
import { type Op, opcodes, type ValueType } from '../encoding/opcodes.js';

/**
 * An i32 index as `rest + constant + lane * stride`, modulo 2^32. Its constant can move into the offset of a
 * memory access, and its stride decides which access serves all lanes at once.
 */
export interface LinearIndex {
  /** Null stands for 0. An i64 for an index of 64 bits, which has nothing but this. */
  readonly rest: Instr | null;
  readonly constant: number;
  /** 0 for scalars and for vectors whose lanes are all equal. */
  readonly stride: number | Instr;
}

/**
 * A vector of bool: all bits of a lane set, or none. The lanes are as wide as the compared operands; `any`
 * marks masks whose bits are all equal, which have every width.
 */
export interface Mask {
  readonly instr: Instr;
  readonly width: MaskWidth | 'any';
}

export type MaskWidth = 32 | 64;

/** Services shared by the families of instruction selection for one statement. */
export interface Selector {
  readonly pool: InstrPool;
  /** Type of byte addresses. */
  readonly addresses: AddressScalar;
  /** The value of an expression that is not a vector of bool; each expression is lowered once. */
  lower(expr: Expr): Instr;
  /** A vector of bool. */
  mask(expr: Expr): Mask;
  /** An index as a sum, or null for vectors whose lanes are not evenly spaced. */
  linear(expr: Expr): LinearIndex | null;
  /** The byte address at which a buffer begins. */
  base(buffer: Buffer): Instr;
}

/** An instruction by a composed name; a name without an opcode is an internal error. */
export function instr(s: Selector, name: string, args: readonly Instr[], imm?: Immediate): Instr {
  if (!(name in opcodes)) throw new InternalError(`wasm: no instruction ${name}`);
  return s.pool.make(name as Op, args, imm);
}

export type VectorShape = 'f32x4' | 'f64x2' | 'i32x4' | 'i64x2';

/**
 * The shape in which vectors of a scalar type are computed. Two lanes of a 32-bit type live in the low
 * half of a register of four, whose high half is arbitrary.
 */
export function vectorShapeOf(type: ExprType): VectorShape {
  const { scalar, lanes } = type;
  const wide = scalarBytes(scalar) === 8;
  if (lanes !== 2 && (lanes !== 4 || wide))
    throw new InternalError(`wasm: ${lanes} lanes of ${scalar} do not fit a vector register`);
  return shapes[scalar];
}

const shapes: Readonly<Record<Scalar, VectorShape>> = {
  f32: 'f32x4',
  f64: 'f64x2',
  i32: 'i32x4',
  i64: 'i64x2',
  bool: 'i32x4',
};

/** Value type of a type in locals, parameters and on the stack. */
export function valueType(type: ExprType): ValueType {
  if (type.lanes === 1) return type.scalar === 'bool' ? 'i32' : type.scalar;
  vectorShapeOf(type);
  return 'v128';
}

export function isFloatScalar(scalar: Scalar): scalar is 'f32' | 'f64' {
  return scalar === 'f32' || scalar === 'f64';
}

/** A scalar in all lanes. */
export function splat(s: Selector, shape: VectorShape, x: Instr): Instr {
  return instr(s, `${shape}.splat`, [x]);
}

export function laneOf(s: Selector, shape: VectorShape, x: Instr, lane: number): Instr {
  return instr(s, `${shape}.extract_lane`, [x], lane);
}

/** A vector of the given scalars, computed one by one: for operations that SIMD lacks. */
export function gatherLanes(s: Selector, shape: VectorShape, scalars: readonly Instr[]): Instr {
  return scalars
    .slice(1)
    .reduce(
      (vector, x, i) => instr(s, `${shape}.replace_lane`, [vector, x], i + 1),
      splat(s, shape, scalars[0]),
    );
}

/** Bytes of the first operand are numbered 0 to 15, those of the second 16 to 31. */
export function shuffle(s: Selector, a: Instr, b: Instr, bytes: readonly number[]): Instr {
  return s.pool.make('i8x16.shuffle', [a, b], Uint8Array.from(bytes));
}

/** Picks the low half of each 64-bit lane; both land in the low half of the result. */
export function narrowLanes(s: Selector, x: Instr): Instr {
  return shuffle(s, x, x, [0, 1, 2, 3, 8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11]);
}

/** A value in every lane, as an immediate. */
export function vectorConst(s: Selector, scalar: Scalar, value: number | bigint): Instr {
  const bytes = new ArrayBuffer(16);
  if (scalar === 'f32') new Float32Array(bytes).fill(Number(value));
  else if (scalar === 'f64') new Float64Array(bytes).fill(Number(value));
  else if (scalar === 'i64') new BigInt64Array(bytes).fill(BigInt(value));
  else new Int32Array(bytes).fill(scalar === 'bool' ? -Number(value) : Number(value));
  return s.pool.make('v128.const', [], new Uint8Array(bytes));
}

export function i32Const(s: Selector, value: number): Instr {
  return s.pool.make('i32.const', [], value | 0, (value | 0) >= 0);
}

function constantOf(x: Instr): number | null {
  return x.op === 'i32.const' ? (x.immediate as number) : null;
}

export function i32Add(s: Selector, a: Instr, b: Instr): Instr {
  const [left, right] = [constantOf(a), constantOf(b)];
  if (left !== null && right !== null) return i32Const(s, left + right);
  if (left === 0) return b;
  if (right === 0) return a;
  return s.pool.make('i32.add', [a, b], undefined, a.nonNegative && b.nonNegative);
}

export function i32Sub(s: Selector, a: Instr, b: Instr): Instr {
  return constantOf(b) === 0 ? a : s.pool.make('i32.sub', [a, b]);
}

export function i32Mul(s: Selector, a: Instr, b: Instr): Instr {
  const [left, right] = [constantOf(a), constantOf(b)];
  if (left !== null && right !== null) return i32Const(s, Math.imul(left, right));
  if (left === 1) return b;
  if (right === 1) return a;
  return s.pool.make('i32.mul', [a, b], undefined, a.nonNegative && b.nonNegative);
}

export function i32Shl(s: Selector, x: Instr, count: number): Instr {
  const value = constantOf(x);
  if (value !== null) return i32Const(s, value << count);
  if (count === 0) return x;
  return s.pool.make('i32.shl', [x, i32Const(s, count)], undefined, x.nonNegative);
}
