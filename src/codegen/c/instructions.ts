import { scalarBytes } from '../../loop/language/build.js';
import type { BinaryOp, ExprType, Scalar, UnaryOp } from '../../loop/language/nodes.js';
import { cType } from './types.js';

/*
 * What processors have one instruction for and compilers do not find in C that says the same: rounding to whole
 * numbers, extrema that keep NaN and the order of zeros, the choice by a comparison, and the addition of a
 * product. Functions ask for them by name where the processor that is compiled for has them.
 */

/** Includes of the intrinsics. */
export const instructionHeaders = `#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif`;

/** An implementation for processors that satisfy a condition. */
export interface Intrinsic {
  readonly condition: string;
  /** An expression. */
  readonly text: string;
}

/** A function body with the first implementation whose condition holds, or else the fallback. */
export function firstOf(ways: readonly Intrinsic[], otherwise: string): string {
  const lines = ways.flatMap(({ condition, text }, at) => [
    `#${at === 0 ? 'if' : 'elif'} ${condition}`,
    `  return ${text};`,
  ]);
  return [...lines, '#else', `  ${otherwise}`, '#endif'].join('\n');
}

/** Vector registers of a processor for one type. */
interface Registers {
  readonly bits: number;
  /** Preprocessor condition under which the registers exist. */
  readonly condition: string;
  /** An intrinsic call whose operands and result have our own types. */
  call(name: string, operands: readonly string[], ...constants: readonly string[]): string;
}

function isWide(scalar: Scalar): boolean {
  return scalarBytes(scalar) === 8;
}

/** The x64 registers that a vector of floats fills; null for other widths. */
function x64Registers(type: ExprType): Registers | null {
  const bits = 8 * type.lanes * scalarBytes(type.scalar);
  const condition = { 128: '__SSE4_1__', 256: '__AVX__', 512: '__AVX512DQ__' }[bits];
  if (type.lanes === 1 || condition === undefined) return null;
  const [native, suffix] = isWide(type.scalar) ? [`__m${bits}d`, 'pd'] : [`__m${bits}`, 'ps'];
  const prefix = `_mm${bits === 128 ? '' : bits}`;
  return {
    bits,
    condition: `defined(${condition})`,
    call: (name, operands, ...constants) => {
      const given = operands.map((operand) => `(${native})${operand}`);
      return `(${cType(type)})${prefix}_${name}_${suffix}(${[...given, ...constants].join(', ')})`;
    },
  };
}

/** The 128-bit registers of 64-bit ARM; null for other widths. */
function armRegisters(type: ExprType): Registers | null {
  if (type.lanes * scalarBytes(type.scalar) !== 16) return null;
  const [native, suffix] = isWide(type.scalar) ? ['float64x2_t', 'f64'] : ['float32x4_t', 'f32'];
  return {
    bits: 128,
    condition: 'defined(__aarch64__)',
    call: (name, operands) =>
      `(${cType(type)})${name}_${suffix}(${operands.map((operand) => `(${native})${operand}`).join(', ')})`,
  };
}

/** Rounding modes of `roundps`, with the inexact exception suppressed. */
const x64Rounding: Readonly<Partial<Record<UnaryOp, string>>> = {
  nearest: '8',
  floor: '9',
  ceil: '10',
  trunc: '11',
};

const armUnary: Readonly<Partial<Record<UnaryOp, string>>> = {
  nearest: 'vrndnq',
  floor: 'vrndmq',
  ceil: 'vrndpq',
  trunc: 'vrndq',
  sqrt: 'vsqrtq',
};

/** A unary operation on a vector of floats `a`. */
export function unaryIntrinsics(op: UnaryOp, type: ExprType): readonly Intrinsic[] {
  const ways: Intrinsic[] = [];
  const [x64, arm] = [x64Registers(type), armRegisters(type)];
  const direction = x64Rounding[op];
  if (x64 !== null && direction !== undefined) {
    const name = x64.bits === 512 ? 'roundscale' : 'round';
    ways.push({ condition: x64.condition, text: x64.call(name, ['a'], direction) });
  }
  if (x64 !== null && op === 'sqrt') ways.push({ condition: x64.condition, text: x64.call('sqrt', ['a']) }); // prettier-ignore
  const onArm = armUnary[op];
  if (arm !== null && onArm !== undefined) ways.push({ condition: arm.condition, text: arm.call(onArm, ['a']) }); // prettier-ignore
  return ways;
}

/** `min` or `max` of vectors of floats `a` and `b`: NaN if either is NaN, and -0 below +0. */
export function extremumIntrinsics(op: BinaryOp, type: ExprType): readonly Intrinsic[] {
  if (op !== 'min' && op !== 'max') return [];
  const ways: Intrinsic[] = [];
  const [x64, arm] = [x64Registers(type), armRegisters(type)];
  if (x64?.bits === 512) {
    // `vrange` orders zeros, but of a number and NaN it returns the number.
    const unordered = `_mm512_cmp_${isWide(type.scalar) ? 'pd' : 'ps'}_mask`;
    const native = isWide(type.scalar) ? '__m512d' : '__m512';
    const mask = `${unordered}((${native})a, (${native})b, _CMP_UNORD_Q)`;
    const range = x64.call('range', ['a', 'b'], op === 'min' ? '4' : '5');
    const suffix = isWide(type.scalar) ? 'pd' : 'ps';
    const text = `(${cType(type)})_mm512_mask_add_${suffix}((${native})${range}, ${mask}, (${native})a, (${native})b)`;
    ways.push({ condition: x64.condition, text });
  }
  if (arm !== null) ways.push({ condition: arm.condition, text: arm.call(`v${op}q`, ['a', 'b']) }); // prettier-ignore
  return ways;
}

/** A `ComparedExtremum` of `a` and `b`: of an unordered or equal pair, x64 returns the second operand. */
export function comparedIntrinsics(op: 'min' | 'max', type: ExprType): readonly Intrinsic[] {
  const x64 = x64Registers(type);
  return x64 === null ? [] : [{ condition: x64.condition, text: x64.call(op, ['b', 'a']) }];
}

/** `min` or `max` when no lane of `b` is NaN or zero. */
export function boundIntrinsics(op: 'min' | 'max', type: ExprType): readonly Intrinsic[] {
  const compared = comparedIntrinsics(op, type);
  const other = extremumIntrinsics(op, type).filter(
    ({ condition }) => condition !== compared[0]?.condition,
  );
  return [...compared, ...other];
}

const predicates: Readonly<Partial<Record<BinaryOp, { float: string; integer: string }>>> = {
  eq: { float: '_CMP_EQ_OQ', integer: '_MM_CMPINT_EQ' },
  ne: { float: '_CMP_NEQ_UQ', integer: '_MM_CMPINT_NE' },
  lt: { float: '_CMP_LT_OQ', integer: '_MM_CMPINT_LT' },
  le: { float: '_CMP_LE_OQ', integer: '_MM_CMPINT_LE' },
  gt: { float: '_CMP_GT_OQ', integer: '_MM_CMPINT_NLE' },
  ge: { float: '_CMP_GE_OQ', integer: '_MM_CMPINT_NLT' },
};

/** Names of AVX-512 lane types and their registers. */
const wideLanes: Readonly<Partial<Record<Scalar, { suffix: string; native: string }>>> = {
  f32: { suffix: 'ps', native: '__m512' },
  f64: { suffix: 'pd', native: '__m512d' },
  i32: { suffix: 'epi32', native: '__m512i' },
  i64: { suffix: 'epi64', native: '__m512i' },
};

/**
 * Selects `a` where a comparison of `x` and `y`, whose lanes are as wide, holds, else `b`: AVX-512 masks are
 * not vectors.
 */
export function choiceIntrinsics(
  op: BinaryOp,
  compared: Scalar,
  type: ExprType,
): readonly Intrinsic[] {
  const predicate = predicates[op];
  const [from, to] = [wideLanes[compared], wideLanes[type.scalar]];
  if (predicate === undefined || from === undefined || to === undefined) return [];
  const isAsWide = scalarBytes(compared) === scalarBytes(type.scalar);
  if (!isAsWide || type.lanes * scalarBytes(type.scalar) !== 64) return [];
  const kind = from.native === '__m512i' ? predicate.integer : predicate.float;
  const mask = `_mm512_cmp_${from.suffix}_mask((${from.native})x, (${from.native})y, ${kind})`;
  const text = `(${cType(type)})_mm512_mask_blend_${to.suffix}(${mask}, (${to.native})b, (${to.native})a)`;
  return [{ condition: 'defined(__AVX512F__)', text }];
}

/** `a * b + c`, rounded once. */
export function fusedIntrinsics(type: ExprType): readonly Intrinsic[] {
  const { scalar, lanes } = type;
  const ways: Intrinsic[] = [];
  const [x64, arm] = [x64Registers(type), armRegisters(type)];
  if (x64 !== null) {
    const condition = x64.bits === 512 ? 'defined(__AVX512F__)' : 'defined(__FMA__)';
    ways.push({ condition, text: x64.call('fmadd', ['a', 'b', 'c']) });
  } else {
    const one = scalar === 'f32' ? '__builtin_fmaf' : '__builtin_fma';
    const each = Array.from({ length: lanes }, (_, l) => `${one}(a[${l}], b[${l}], c[${l}])`);
    const text = lanes === 1 ? `${one}(a, b, c)` : `(${cType(type)}){${each.join(', ')}}`;
    ways.push({ condition: 'defined(__FMA__) || defined(__aarch64__)', text });
  }
  if (arm !== null) ways.push({ condition: arm.condition, text: arm.call('vfmaq', ['c', 'a', 'b']) }); // prettier-ignore
  return ways;
}
