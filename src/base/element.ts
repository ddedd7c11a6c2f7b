import type { DType, HostArray } from './dtype.js';

/** One element as a user sees it: bigint for int64, boolean for bool, a number otherwise. */
export type Element = number | bigint | boolean;

const scratchFloat = new Float32Array(1);
const scratchBits = new Uint32Array(scratchFloat.buffer);

function bitsOf(value: number): number {
  scratchFloat[0] = value;
  return scratchBits[0];
}

function floatOf(bits: number): number {
  scratchBits[0] = bits;
  return scratchFloat[0];
}

/**
 * The bits of a number as a float32, rounded to odd: truncated, with the last bit set where anything was
 * lost. Rounding that to 16 bits gives the same result as rounding the number itself.
 */
function oddBitsOf(value: number): number {
  const bits = bitsOf(value);
  const nearest = scratchFloat[0];
  if (nearest === value || Number.isNaN(value)) return bits;
  return (Math.abs(nearest) > Math.abs(value) ? bits - 1 : bits) | 1;
}

/** The bfloat16 nearest to a number, ties to even; NaN stays NaN. */
export function toBFloat16Bits(value: number): number {
  const bits = oddBitsOf(value);
  if (Number.isNaN(value)) return 0x7fc0;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

export function fromBFloat16Bits(bits: number): number {
  return floatOf(bits << 16);
}

/** The IEEE half nearest to a number, ties to even; overflow becomes infinite. */
export function toFloat16Bits(value: number): number {
  const bits = oddBitsOf(value);
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Below the least normal half: adding 0.5 aligns the significand so that hardware rounding does it.
    return sign | (bitsOf(floatOf(magnitude) + 0.5) - 0x3f000000);
  }
  const odd = (magnitude >>> 13) & 1;
  return sign | ((magnitude - 0x38000000 + 0xfff + odd) >>> 13);
}

export function fromFloat16Bits(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The number itself, or a float64 that rounds to fewer digits as the integer would. */
function floatNear(value: Element): number {
  if (typeof value !== 'bigint' || BigInt.asIntN(53, value) === value) return Number(value);
  const length = (value < 0n ? -value : value).toString(2).length;
  const lost = BigInt(Math.max(length - 52, 1));
  const kept = value >> lost;
  // Rounded to odd, as above.
  const isExact = kept << lost === value;
  return Number(isExact ? value : ((kept << 1n) | 1n) << (lost - 1n));
}

/**
 * Stores an element. Integers outside the range wrap like C's; a fraction is truncated. Callers that owe the
 * user an error check before.
 */
export function writeElement(dtype: DType, home: HostArray, index: number, value: Element): void {
  if (home instanceof BigInt64Array) {
    home[index] = typeof value === 'bigint' ? value : BigInt(Math.trunc(Number(value)));
  } else if (dtype === 'float16') home[index] = toFloat16Bits(floatNear(value));
  else if (dtype === 'bfloat16') home[index] = toBFloat16Bits(floatNear(value));
  else if (dtype === 'float32') home[index] = floatNear(value);
  else if (dtype === 'bool')
    home[index] = Number(value) === 0 ? 0 : 1; // NaN is true
  else home[index] = Number(value);
}

/** Reads an element, in the form in which users see it. */
export function readElement(dtype: DType, home: HostArray, index: number): Element {
  const raw = home[index];
  if (dtype === 'float16') return fromFloat16Bits(Number(raw));
  if (dtype === 'bfloat16') return fromBFloat16Bits(Number(raw));
  if (dtype === 'bool') return raw !== 0;
  return raw;
}

/** The element of a float dtype of 16 bits that is nearest to a number; for other dtypes the number itself. */
export function nearestElement(dtype: DType, value: number): number {
  if (dtype === 'float16') return fromFloat16Bits(toFloat16Bits(value));
  return dtype === 'bfloat16' ? fromBFloat16Bits(toBFloat16Bits(value)) : value;
}

/** The elements, with 16-bit floats as the numbers that they are; otherwise the same typed array. */
export function widened(dtype: DType, elements: HostArray): HostArray {
  if (dtype !== 'float16' && dtype !== 'bfloat16') return elements;
  const read = dtype === 'float16' ? fromFloat16Bits : fromBFloat16Bits;
  return Float32Array.from(elements as Uint16Array, read);
}
