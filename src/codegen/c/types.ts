import type { ExprType, Scalar, ElementKind } from '../../loop/language/nodes.js';

/**
 * C types of the scalars of the loop IR. A boolean is an `int32_t`, 0 or 1; in a vector each lane is 0 or -1,
 * as comparisons of vectors give and masks require.
 */
export const scalarTypes: Readonly<Record<Scalar, string>> = {
  f32: 'float',
  f64: 'double',
  i32: 'int32_t',
  i64: 'int64_t',
  bool: 'int32_t',
};

/** C types of elements in memory. */
export const storageTypes: Readonly<Record<ElementKind, string>> = {
  f32: 'float',
  f64: 'double',
  i32: 'int32_t',
  i64: 'int64_t',
  i8: 'int8_t',
  u8: 'uint8_t',
  u16: 'uint16_t',
};

/** The scalar that represents a lane in C: booleans are held as i32. */
export function laneScalar(scalar: Scalar): Exclude<Scalar, 'bool'> {
  return scalar === 'bool' ? 'i32' : scalar;
}

/** Name of a type within names of functions and vector types: `f32`, `boolx4`. */
export function typeName({ scalar, lanes }: ExprType): string {
  return lanes === 1 ? scalar : `${scalar}x${lanes}`;
}

/** The C type of a value. */
export function cType({ scalar, lanes }: ExprType): string {
  return lanes === 1 ? scalarTypes[scalar] : vectorType(scalar, lanes);
}

/** C vector type; booleans use that of i32. */
export function vectorType(scalar: Scalar, lanes: number): string {
  return `k_${laneScalar(scalar)}x${lanes}`;
}
