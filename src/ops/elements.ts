import type { DType } from '../base/dtype.js';
import * as e from '../loop/language/build.js';
import type { Buffer, Expr, Scalar, Stmt, ElementKind } from '../loop/language/nodes.js';

/*
 * How elements of a dtype lie in memory, and how they come to and from the compute type in which
 * operators handle them. The bit patterns are those of `base/element.ts`.
 */

const storages: Readonly<Record<DType, ElementKind>> = {
  bool: 'u8',
  uint8: 'u8',
  int8: 'i8',
  int32: 'i32',
  int64: 'i64',
  bfloat16: 'u16',
  float16: 'u16',
  float32: 'f32',
  float64: 'f64',
};

/** The dtype whose elements are the values of a scalar type. */
export const scalarDTypes: Readonly<
  Record<Scalar, 'float32' | 'float64' | 'int32' | 'int64' | 'bool'>
> = {
  f32: 'float32',
  f64: 'float64',
  i32: 'int32',
  i64: 'int64',
  bool: 'bool',
};

/** The element kind of a dtype in memory. */
export function storageOf(dtype: DType): ElementKind {
  return storages[dtype];
}

/** The element at a flat index, in the compute type of the dtype. */
export function loadElement(dtype: DType, from: Buffer, index: Expr): Expr {
  const raw = e.load(from, index);
  if (dtype === 'bool') return e.cast('bool', raw);
  if (dtype === 'float16') return float16Value(raw);
  if (dtype === 'bfloat16') return e.bitcast('f32', e.shl(raw, 16));
  return raw;
}

/** Stores an element given in the compute type of the dtype; narrow dtypes round or wrap. */
export function storeElement(dtype: DType, to: Buffer, index: Expr, value: Expr): Stmt {
  if (dtype === 'bool') return e.store(to, index, e.cast('i32', value));
  if (dtype === 'float16') return e.store(to, index, float16Bits(value));
  if (dtype === 'bfloat16') return e.store(to, index, bfloat16Bits(value));
  return e.store(to, index, value);
}

/**
 * Rounds a value as a store and load would. Applied to every element passed between fused operators, so that
 * fusion never changes a result.
 */
export function settle(dtype: DType, value: Expr): Expr {
  switch (dtype) {
    case 'float16':
      return float16Value(float16Bits(value));
    case 'bfloat16':
      return e.bitcast('f32', e.shl(bfloat16Bits(value), 16));
    case 'int8':
      return e.shr(e.shl(value, 24), 24);
    case 'uint8':
      return e.and(value, 255);
    default:
      return value;
  }
}

/**
 * Shifting a half's bits into place leaves its exponent biased by 15 instead of 127; multiplying by
 * 2^112 corrects it, for subnormals too. Infinity and NaN need the full exponent.
 */
function float16Value(bits: Expr): Expr {
  const sign = e.shl(e.and(bits, 0x8000), 16);
  const magnitude = e.shl(e.and(bits, 0x7fff), 13);
  const scaled = e.bitcast('i32', e.mul(e.bitcast('f32', magnitude), 2 ** 112));
  const special = e.or(magnitude, 0x7f800000);
  const isSpecial = e.ge(magnitude, 0x7c00 << 13);
  return e.bitcast('f32', e.or(sign, e.select(isSpecial, special, scaled)));
}

function float16Bits(value: Expr): Expr {
  const bits = e.bitcast('i32', value);
  const sign = e.and(e.shrU(bits, 16), 0x8000);
  const magnitude = e.and(bits, 0x7fffffff);
  const odd = e.and(e.shrU(magnitude, 13), 1);
  const normal = e.shrU(e.add(e.add(magnitude, 0xfff - 0x38000000), odd), 13);
  // Below the least normal half: adding 0.5 aligns the significand so that hardware rounding does it.
  const aligned = e.bitcast('i32', e.add(e.bitcast('f32', magnitude), 0.5));
  const tiny = e.select(e.lt(magnitude, 0x38800000), e.sub(aligned, 0x3f000000), normal);
  const finite = e.select(e.ge(magnitude, 0x477ff000), 0x7c00, tiny);
  return e.or(sign, e.select(e.gt(magnitude, 0x7f800000), 0x7e00, finite));
}

function bfloat16Bits(value: Expr): Expr {
  const bits = e.bitcast('i32', value);
  const odd = e.and(e.shrU(bits, 16), 1);
  const rounded = e.shrU(e.add(e.add(bits, 0x7fff), odd), 16);
  return e.select(e.gt(e.and(bits, 0x7fffffff), 0x7f800000), 0x7fc0, rounded);
}
