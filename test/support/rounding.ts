/** Exact rounding of numbers to 16-bit floats, in integers: what conversions are compared with. */

export type Narrow = 'float16' | 'bfloat16';

interface Format {
  /** Digits of the significand, the leading one included. */
  readonly digits: number;
  /** The exponent of the least normal number. */
  readonly least: number;
  /** The exponent of the greatest. */
  readonly greatest: number;
}

const formats: Readonly<Record<Narrow | 'float32', Format>> = {
  float16: { digits: 11, least: -14, greatest: 15 },
  bfloat16: { digits: 8, least: -126, greatest: 127 },
  float32: { digits: 24, least: -126, greatest: 127 },
};

/** A finite float64 as an integer times a power of two. */
function parts(value: number): { readonly significand: bigint; readonly exponent: number } {
  const bits = new BigUint64Array(Float64Array.of(Math.abs(value)).buffer)[0];
  const exponent = Number(bits >> 52n);
  const fraction = bits & ((1n << 52n) - 1n);
  return exponent === 0
    ? { significand: fraction, exponent: -1074 }
    : { significand: fraction | (1n << 52n), exponent: exponent - 1075 };
}

const bitLength = (value: bigint): number => (value === 0n ? 0 : value.toString(2).length);

/** The float nearest to `significand * 2 ** exponent`, ties to the even one; a positive number. */
function nearest(significand: bigint, exponent: number, dtype: keyof typeof formats): number {
  const { digits, least, greatest } = formats[dtype];
  if (significand === 0n) return 0;
  // The exponent of the last digit that the format keeps.
  const leading = exponent + bitLength(significand) - 1;
  const last = Math.max(leading, least) - digits + 1;
  const dropped = last - exponent;
  let kept = significand;
  if (dropped > 0) {
    const [half, rest] = [1n << BigInt(dropped - 1), significand & ((1n << BigInt(dropped)) - 1n)];
    kept = significand >> BigInt(dropped);
    if (rest > half || (rest === half && (kept & 1n) === 1n)) kept += 1n;
  }
  const scale = dropped > 0 ? last : exponent;
  if (scale + bitLength(kept) - 1 > greatest) return Infinity;
  // In two factors, since the power alone may be no float64.
  return Number(kept) * 2 ** Math.floor(scale / 2) * 2 ** Math.ceil(scale / 2);
}

/** The float of a dtype that is nearest to a number or an integer, ties to the even one. */
export function rounded(dtype: keyof typeof formats, value: number | bigint): number {
  if (typeof value === 'bigint') {
    const magnitude = nearest(value < 0n ? -value : value, 0, dtype);
    return value < 0n ? -magnitude : magnitude;
  }
  if (!Number.isFinite(value)) return value;
  const { significand, exponent } = parts(value);
  const magnitude = nearest(significand, exponent, dtype);
  return value < 0 || Object.is(value, -0) ? -magnitude : magnitude;
}

/** The distance between two floats of a dtype around a number. */
export function ulpOf(dtype: keyof typeof formats, value: number): number {
  const { digits, least } = formats[dtype];
  const { significand, exponent } = parts(value);
  const leading = significand === 0n ? least : exponent + bitLength(significand) - 1;
  return 2 ** (Math.max(leading, least) - digits + 1);
}
