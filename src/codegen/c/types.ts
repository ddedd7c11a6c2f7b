import type { ExprType, Scalar, Storage } from '../../loop/language/nodes.js';

/**
 * How values of the loop IR are held in C. A truth value is an `int32_t`, 0 or 1; in a vector each lane
 * is 0 or -1, which is what comparisons of vectors give and what masks want.
 */
export const scalarTypes: Readonly<Record<Scalar, string>> = {
  f32: 'float',
  f64: 'double',
  i32: 'int32_t',
  i64: 'int64_t',
  bool: 'int32_t',
};

/** Elements of memory. */
export const storageTypes: Readonly<Record<Storage, string>> = {
  f32: 'float',
  f64: 'double',
  i32: 'int32_t',
  i64: 'int64_t',
  i8: 'int8_t',
  u8: 'uint8_t',
  u16: 'uint16_t',
};

/** The scalar that a lane is in C: truth values are kept as i32. */
export function heldAs(scalar: Scalar): Exclude<Scalar, 'bool'> {
  return scalar === 'bool' ? 'i32' : scalar;
}

/** A name for a type in names of functions and of vector types: `f32`, `boolx4`. */
export function typeName({ scalar, lanes }: ExprType): string {
  return lanes === 1 ? scalar : `${scalar}x${lanes}`;
}

/** The C type of a value. */
export function cType({ scalar, lanes }: ExprType): string {
  return lanes === 1 ? scalarTypes[scalar] : vectorType(scalar, lanes);
}

/** The C type of a vector: that of truth values is the one of i32. */
export function vectorType(scalar: Scalar, lanes: number): string {
  return `k_${heldAs(scalar)}x${lanes}`;
}
