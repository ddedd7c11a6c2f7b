import { type DType, dtypes, kindOf } from './dtype.js';

/**
 * Bits of precision: integers of at most so many bits are exact; for floats the significand with its hidden
 * bit.
 */
const bits: Readonly<Record<DType, number>> = {
  bool: 1,
  uint8: 8,
  int8: 7,
  int32: 31,
  int64: 63,
  bfloat16: 8,
  float16: 11,
  float32: 24,
  float64: 53,
};

/** The exponent of the greatest finite numbers. */
const exponents: Readonly<Partial<Record<DType, number>>> = {
  bfloat16: 127,
  float16: 15,
  float32: 127,
  float64: 1023,
};

/** Bits of a magnitude that a dtype holds exactly: numbers about 1 are at most `2 ** -bits` off. */
export function exactBits(dtype: DType): number {
  return bits[dtype];
}

/** True when a dtype has negative elements. */
export function isSigned(dtype: DType): boolean {
  return dtype !== 'bool' && dtype !== 'uint8';
}

const integers = dtypes.filter((dtype) => kindOf(dtype) === 'int');
const ranges: ReadonlyMap<DType, readonly [bigint, bigint]> = new Map(
  integers.map((dtype) => {
    const end = 2n ** BigInt(bits[dtype]);
    return [dtype, [isSigned(dtype) ? -end : 0n, end - 1n]];
  }),
);

/** The least and the greatest element of an integer dtype; null for others. */
export function integerRange(dtype: DType): readonly [bigint, bigint] | null {
  return ranges.get(dtype) ?? null;
}

/** The greatest finite element of a float dtype; null for others. */
export function greatestFinite(dtype: DType): number | null {
  const exponent = exponents[dtype];
  return exponent === undefined ? null : (2 - 2 ** (1 - bits[dtype])) * 2 ** exponent;
}
