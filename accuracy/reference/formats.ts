import {
  fromBFloat16Bits,
  fromFloat16Bits,
  toBFloat16Bits,
  toFloat16Bits,
} from '../../src/base/element.js';
import { fromNumber, isNegative, magnitudeOf, type Real, scale, sub, toNumber } from './real.js';

/** A floating dtype, with its numbers in order. */
export interface FloatFormat {
  readonly dtype: 'float32' | 'float64' | 'float16' | 'bfloat16';
  /** Stored bits of the significand. */
  readonly fraction: number;
  /** Exponents of the least normal and of the greatest number. */
  readonly least: number;
  readonly greatest: number;
  /** Bits of a number. */
  readonly width: number;
  /** The float with these bits. */
  fromBits(bits: bigint): number;
  /** The bits of a float of this format. */
  toBits(x: number): bigint;
  /** The float of this format nearest to a number. */
  round(x: number): number;
}

const scratch = new DataView(new ArrayBuffer(8));

function narrow(
  dtype: FloatFormat['dtype'],
  [fraction, least, greatest]: readonly [number, number, number],
  fromBits: (bits: number) => number,
  toBits: (x: number) => number,
): FloatFormat {
  return {
    dtype, fraction, least, greatest, width: 16,
    fromBits: (bits) => fromBits(Number(bits)),
    toBits: (x) => BigInt(toBits(x)),
    round: (x) => fromBits(toBits(x)),
  }; // prettier-ignore
}

export const formats: readonly FloatFormat[] = [
  {
    dtype: 'float32', fraction: 23, least: -126, greatest: 127, width: 32,
    fromBits: (bits) => {
      scratch.setUint32(0, Number(bits));
      return scratch.getFloat32(0);
    },
    toBits: (x) => {
      scratch.setFloat32(0, x);
      return BigInt(scratch.getUint32(0));
    },
    round: Math.fround,
  },
  {
    dtype: 'float64', fraction: 52, least: -1022, greatest: 1023, width: 64,
    fromBits: (bits) => {
      scratch.setBigUint64(0, bits);
      return scratch.getFloat64(0);
    },
    toBits: (x) => {
      scratch.setFloat64(0, x);
      return scratch.getBigUint64(0);
    },
    round: (x) => x,
  },
  narrow('float16', [10, -14, 15], fromFloat16Bits, toFloat16Bits),
  narrow('bfloat16', [7, -126, 127], fromBFloat16Bits, toBFloat16Bits),
]; // prettier-ignore

/** The exponent of the distance between neighbors of the format around a number of this magnitude. */
export function ulpExponent(magnitude: number, { fraction, least }: FloatFormat): number {
  return Math.max(magnitude, least) - fraction;
}

/**
 * The distance of a result from the exact value, in units of 2^unit. Beyond the greatest number an infinity counts
 * as the next power of two, and so does an exact value out there.
 */
export function distance(
  result: number,
  exact: Real,
  unit: number,
  { greatest }: FloatFormat,
): number {
  if (Number.isNaN(result)) return Infinity;
  const end = fromNumber(isNegative(exact) ? -1 : 1);
  const capped = magnitudeOf(exact) > greatest ? scale(end, greatest + 1) : exact;
  const got = Number.isFinite(result)
    ? fromNumber(result)
    : scale(fromNumber(Math.sign(result)), greatest + 1);
  const off = sub(got, capped);
  // Far off, its magnitude says enough; and it would not fit into a number.
  const magnitude = magnitudeOf(off) - unit;
  return magnitude > 1000 ? Infinity : magnitude < -60 ? 0 : Math.abs(toNumber(scale(off, -unit)));
}

/** The position of a number in the order of its format: neighbors differ by 1; of NaN there is none. */
export function orderOf(x: number, format: FloatFormat): bigint {
  const sign = 1n << BigInt(format.width - 1);
  const bits = format.toBits(x);
  return bits < sign ? bits : sign - bits - 1n;
}

/** The number at a position, held between the infinities. */
export function inOrder(position: bigint, format: FloatFormat): number {
  const sign = 1n << BigInt(format.width - 1);
  const [low, high] = [orderOf(-Infinity, format), orderOf(Infinity, format)];
  const held = position < low ? low : position > high ? high : position;
  return format.fromBits(held >= 0n ? held : sign - held - 1n);
}
