import { InternalError } from '../../base/errors.js';
import type { BinaryOp, Scalar, UnaryOp } from './nodes.js';

/**
 * Meaning of the operations on one lane. The interpreter computes with these functions and the simplifier
 * folds constants with them, so the two cannot disagree.
 */

/** One lane: bigint for i64, 0 or 1 for bool, a number otherwise (already rounded for f32). */
export type Lane = number | bigint;
export type LaneUnary = (x: Lane) => Lane;
export type LaneBinary = (a: Lane, b: Lane) => Lane;

/** Thrown where the IR leaves the result undefined: a zero divisor or an overflowing integer division. */
export class UndefinedDivision extends Error {}

const int32Min = -(2 ** 31);
const int64Min = -(2n ** 63n);
const wrap = (x: bigint): bigint => BigInt.asIntN(64, x);
const unsigned = (x: bigint): bigint => BigInt.asUintN(64, x);
const bit = (truth: boolean): number => (truth ? 1 : 0);

type Numeric<T> = (a: T, b: T) => T;
type Compare<T> = (a: T, b: T) => boolean;

/** Nearest integer, ties to even: adding 2^52 leaves no bits for a fraction, so hardware rounds. */
function nearest(x: number): number {
  const size = Math.abs(x);
  if (!(size < 2 ** 52)) return x;
  const rounded = size + 2 ** 52 - 2 ** 52;
  return x < 0 || Object.is(x, -0) ? -rounded : rounded;
}

type UnaryTable<T> = Readonly<Partial<Record<UnaryOp, (x: T) => T>>>;
type BinaryTable<T> = Readonly<Partial<Record<BinaryOp, Numeric<T>>>>;

const floatUnary: UnaryTable<number> = {
  neg: (x) => -x,
  abs: Math.abs,
  sqrt: Math.sqrt,
  floor: Math.floor,
  ceil: Math.ceil,
  trunc: Math.trunc,
  nearest,
};
const int32Unary: UnaryTable<number> = {
  neg: (x) => -x | 0,
  abs: (x) => Math.abs(x) | 0,
  not: (x) => ~x,
};
const int64Unary: UnaryTable<bigint> = {
  neg: (x) => wrap(-x),
  abs: (x) => wrap(x < 0n ? -x : x),
  not: (x) => ~x,
};
const boolUnary: UnaryTable<number> = { not: (x) => 1 - x };

/** `Math.min` and `Math.max` propagate NaN and order -0 below +0, as the IR does. */
const floatBinary: BinaryTable<number> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  min: Math.min,
  max: Math.max,
};
const int32Binary: BinaryTable<number> = {
  add: (a, b) => (a + b) | 0,
  sub: (a, b) => (a - b) | 0,
  mul: Math.imul,
  div: (a, b) => (a / checkDivisor(b, b === -1 && a === int32Min)) | 0,
  rem: (a, b) => (a % checkDivisor(b, b === -1 && a === int32Min)) | 0,
  min: Math.min,
  max: Math.max,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  shl: (a, b) => a << b,
  shr: (a, b) => a >> b,
  shrU: (a, b) => (a >>> b) | 0,
};
const int64Binary: BinaryTable<bigint> = {
  add: (a, b) => wrap(a + b),
  sub: (a, b) => wrap(a - b),
  mul: (a, b) => wrap(a * b),
  div: (a, b) => a / checkDivisor(b, b === -1n && a === int64Min),
  rem: (a, b) => a % checkDivisor(b, b === -1n && a === int64Min),
  min: (a, b) => (a < b ? a : b),
  max: (a, b) => (a > b ? a : b),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  shl: (a, b) => wrap(a << (b & 63n)),
  shr: (a, b) => a >> (b & 63n),
  shrU: (a, b) => wrap(unsigned(a) >> (b & 63n)),
};
const boolBinary: BinaryTable<number> = {
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
};

function checkDivisor<T extends Lane>(divisor: T, overflows: boolean): T {
  if (Number(divisor) === 0) throw new UndefinedDivision('integer division by zero');
  if (overflows) throw new UndefinedDivision('integer division overflows');
  return divisor;
}

function comparisonsOf<T extends Lane>(): Readonly<Partial<Record<BinaryOp, Compare<T>>>> {
  return {
    eq: (a, b) => a === b,
    ne: (a, b) => a !== b,
    lt: (a, b) => a < b,
    le: (a, b) => a <= b,
    gt: (a, b) => a > b,
    ge: (a, b) => a >= b,
  };
}
const numberComparisons = comparisonsOf<number>();
const bigintComparisons = comparisonsOf<bigint>();

const unaryTables: Readonly<Record<Scalar, UnaryTable<number> | UnaryTable<bigint>>> = {
  f32: floatUnary,
  f64: floatUnary,
  i32: int32Unary,
  i64: int64Unary,
  bool: boolUnary,
};
const binaryTables: Readonly<Record<Scalar, BinaryTable<number> | BinaryTable<bigint>>> = {
  f32: floatBinary,
  f64: floatBinary,
  i32: int32Binary,
  i64: int64Binary,
  bool: boolBinary,
};

/** A set for each scalar type. */
const byScalar = <T>(of: (scalar: Scalar) => Iterable<T>): Readonly<Record<Scalar, ReadonlySet<T>>> => ({
  f32: new Set(of('f32')), f64: new Set(of('f64')), i32: new Set(of('i32')), i64: new Set(of('i64')), bool: new Set(of('bool')),
}); // prettier-ignore

/** Unary operations of each scalar type: those that have a meaning here. */
export const unaryOps: Readonly<Record<Scalar, ReadonlySet<UnaryOp>>> = byScalar(
  (scalar) => Object.keys(unaryTables[scalar]) as UnaryOp[],
);

/** Binary operations that give a truth. */
export const comparisonOps: ReadonlySet<BinaryOp> = new Set(
  Object.keys(numberComparisons) as BinaryOp[],
);

/** Binary operations of operands of each scalar type. Truths are not ordered. */
export const binaryOps: Readonly<Record<Scalar, ReadonlySet<BinaryOp>>> = byScalar((scalar) => [
  ...(Object.keys(binaryTables[scalar]) as BinaryOp[]),
  ...(scalar === 'bool' ? (['eq', 'ne'] as const) : comparisonOps),
]);

/** The meaning of a unary operation on lanes of a scalar type. */
export function unaryLane(op: UnaryOp, scalar: Scalar): LaneUnary {
  const f = unaryTables[scalar][op] as LaneUnary | undefined;
  if (f === undefined) throw new InternalError(`loop IR: ${op} of ${scalar}`);
  if (scalar !== 'f32') return f;
  return (x) => Math.fround(f(x) as number);
}

/** The meaning of a binary operation; `scalar` is the type of the operands. */
export function binaryLane(op: BinaryOp, scalar: Scalar): LaneBinary {
  const compare = (scalar === 'i64' ? bigintComparisons : numberComparisons)[op] as
    Compare<Lane> | undefined;
  if (compare !== undefined) return (a, b) => bit(compare(a, b));
  const f = binaryTables[scalar][op] as LaneBinary | undefined;
  if (f === undefined) throw new InternalError(`loop IR: ${op} of ${scalar}`);
  // Rounding the float64 result once more gives the correctly rounded float32 result for these
  // operations, since 53 >= 2 * 24 + 2 (Figueroa, "When is double rounding innocuous?", 1995).
  if (scalar === 'f32') return (a, b) => Math.fround(f(a, b) as number);
  return f;
}

/** The meaning of a cast between two different scalar types. */
export function castLane(from: Scalar, to: Scalar): LaneUnary {
  if (to === 'bool') return from === 'i64' ? (x) => bit(x !== 0n) : (x) => bit(x !== 0);
  if (from === 'i64') {
    if (to === 'i32') return (x) => Number(BigInt.asIntN(32, x as bigint));
    if (to === 'f32') return (x) => bigintToFloat32(x as bigint);
    return Number;
  }
  if (to === 'i64') {
    return from === 'i32' || from === 'bool' ? (x) => BigInt(x) : (x) => floatToInt64(x as number);
  }
  if (to === 'i32') return from === 'bool' ? (x) => x : (x) => floatToInt32(x as number);
  if (to === 'f32') return (x) => Math.fround(x as number);
  return (x) => x;
}

function floatToInt32(x: number): number {
  if (x >= 2 ** 31 - 1) return 2 ** 31 - 1;
  if (x <= int32Min) return int32Min;
  return x | 0; // also maps NaN to 0
}

function floatToInt64(x: number): bigint {
  if (Number.isNaN(x)) return 0n;
  if (x >= 2 ** 63) return 2n ** 63n - 1n;
  if (x <= -(2 ** 63)) return int64Min;
  return BigInt(Math.trunc(x));
}

/** One rounding only: bits that float64 could not hold are kept as a sticky bit (round to odd). */
function bigintToFloat32(x: bigint): number {
  if (BigInt.asIntN(53, x) === x) return Math.fround(Number(x));
  const sticky = (x & 0x7ffn) === 0n ? 0n : 1n;
  return Math.fround(Number((x >> 11n) | sticky)) * 2048;
}

const scratch = new DataView(new ArrayBuffer(8));

/** The meaning of a bitcast between two types of equal width. The payload of a NaN is not defined. */
export function bitcastLane(from: Scalar, to: Scalar): LaneUnary {
  if (from === 'f32' && to === 'i32') {
    return (x) => (scratch.setFloat32(0, x as number), scratch.getInt32(0));
  }
  if (from === 'i32' && to === 'f32') {
    return (x) => (scratch.setInt32(0, x as number), scratch.getFloat32(0));
  }
  if (from === 'f64' && to === 'i64') {
    return (x) => (scratch.setFloat64(0, x as number), scratch.getBigInt64(0));
  }
  if (from === 'i64' && to === 'f64') {
    return (x) => (scratch.setBigInt64(0, x as bigint), scratch.getFloat64(0));
  }
  throw new InternalError(`loop IR: bitcast of ${from} to ${to}`);
}
