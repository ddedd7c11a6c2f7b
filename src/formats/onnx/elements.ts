import type { DType } from '../../base/dtype.js';

/** Bit layout of a narrow float: sign, exponent, mantissa. */
export interface NarrowFloat {
  readonly mantissa: number;
  readonly exponent: number;
  readonly bias: number;
  /** `ieee`: infinities and NaNs. `nan`: all ones is NaN. `unsignedZero`: the bits of -0 are NaN. `none`: neither. */
  readonly special: 'ieee' | 'nan' | 'unsignedZero' | 'none' | 'power';
}

/**
 * An element type of ONNX and its carrier dtype. Types that Kaon has are their own carriers; the others use a
 * wider dtype that holds each of their values exactly, uint64 the bits of int64.
 */
export interface ElementType {
  readonly name: string;
  /** The number in `TensorProto.DataType`. */
  readonly code: number;
  readonly carrier: DType;
  /** Bits of one element in a file. */
  readonly bits: number;
  /** True when the carrier is the type itself. */
  readonly isOwn: boolean;
  /** For foreign integers: true when there are negative ones. */
  readonly isSigned?: boolean;
  /** For foreign floats. */
  readonly narrow?: NarrowFloat;
}

const own = (name: string, code: number, carrier: DType, bits: number): ElementType => ({
  name,
  code,
  carrier,
  bits,
  isOwn: true,
});

const integer = (name: string, code: number, carrier: DType, bits: number): ElementType => ({
  name,
  code,
  carrier,
  bits,
  isOwn: false,
  isSigned: !name.startsWith('u'),
});

const float = (
  name: string,
  code: number,
  bits: number,
  mantissa: number,
  bias: number,
  special: NarrowFloat['special'],
): ElementType => {
  const exponent = bits - 1 - mantissa;
  return {
    name, code, bits, carrier: 'float32', isOwn: false,
    narrow: { mantissa, exponent: special === 'power' ? bits : exponent, bias, special },
  }; // prettier-ignore
};

/** Element types that have a carrier; complex numbers and strings do not. */
export const elements: readonly ElementType[] = [
  own('float', 1, 'float32', 32),
  own('uint8', 2, 'uint8', 8),
  own('int8', 3, 'int8', 8),
  integer('uint16', 4, 'int32', 16),
  integer('int16', 5, 'int32', 16),
  own('int32', 6, 'int32', 32),
  own('int64', 7, 'int64', 64),
  own('bool', 9, 'bool', 8),
  own('float16', 10, 'float16', 16),
  own('double', 11, 'float64', 64),
  integer('uint32', 12, 'int64', 32),
  integer('uint64', 13, 'int64', 64),
  own('bfloat16', 16, 'bfloat16', 16),
  float('float8e4m3fn', 17, 8, 3, 7, 'nan'),
  float('float8e4m3fnuz', 18, 8, 3, 8, 'unsignedZero'),
  float('float8e5m2', 19, 8, 2, 15, 'ieee'),
  float('float8e5m2fnuz', 20, 8, 2, 16, 'unsignedZero'),
  integer('uint4', 21, 'uint8', 4),
  integer('int4', 22, 'int8', 4),
  float('float4e2m1', 23, 4, 1, 1, 'none'),
  float('float8e8m0', 24, 8, 0, 127, 'power'),
  integer('uint2', 25, 'uint8', 2),
  integer('int2', 26, 'int8', 2),
];

const byCode: ReadonlyMap<number, ElementType> = new Map(elements.map((each) => [each.code, each]));
const byName: ReadonlyMap<string, ElementType> = new Map(elements.map((each) => [each.name, each]));
const byDType: ReadonlyMap<DType, ElementType> = new Map(
  elements.filter(({ isOwn }) => isOwn).map((each) => [each.carrier, each]),
);

export function elementByCode(code: number): ElementType | undefined {
  return byCode.get(code);
}

/** Element type by its ONNX name. */
export function elementNamed(name: string): ElementType {
  return byName.get(name)!;
}

/** The element type of a dtype. */
export function elementTypeOf(dtype: DType): ElementType {
  return byDType.get(dtype)!;
}

/** Names of element types without a carrier. */
const foreignNames: Readonly<Record<number, string>> = {
  0: 'undefined',
  8: 'string',
  14: 'complex64',
  15: 'complex128',
};

export function elementName(code: number): string {
  return byCode.get(code)?.name ?? foreignNames[code] ?? `element type ${code}`;
}

/** Value of a narrow float's bits. */
export function decodeNarrow(format: NarrowFloat, bits: number): number {
  const { mantissa, exponent, bias, special } = format;
  if (special === 'power') return bits === 255 ? NaN : 2 ** (bits - bias);
  const sign = bits >> (mantissa + exponent) === 0 ? 1 : -1;
  const power = (bits >> mantissa) & ((1 << exponent) - 1);
  const fraction = bits & ((1 << mantissa) - 1);
  const isTop = power === (1 << exponent) - 1;
  if (special === 'unsignedZero' && sign < 0 && power === 0 && fraction === 0) return NaN;
  if (special === 'nan' && isTop && fraction === (1 << mantissa) - 1) return NaN;
  if (special === 'ieee' && isTop) return fraction === 0 ? sign * Infinity : NaN;
  if (power === 0) return sign * fraction * 2 ** (1 - bias - mantissa);
  return sign * (1 + fraction / 2 ** mantissa) * 2 ** (power - bias);
}

/** The greatest finite value of a narrow float. */
export function greatestOf(format: NarrowFloat): number {
  const { mantissa, exponent, bias, special } = format;
  if (special === 'power') return 2 ** (254 - bias);
  const top = (1 << exponent) - 1;
  if (special === 'ieee') return (2 - 2 ** -mantissa) * 2 ** (top - 1 - bias);
  const fraction = special === 'nan' ? 2 - 2 ** (1 - mantissa) : 2 - 2 ** -mantissa;
  return fraction * 2 ** (top - bias);
}
