import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import type { PointContext } from '../../declare/lowering.js';
import { leadingZeros } from './fixed-point.js';

/* The bits of f32 numbers, as i32 expressions. */

/** Bits of infinity. Those of greater numbers are NaN. */
export const infinityBits = 0x7f800000;

export const signBit: Expr = e.i32(-(2 ** 31));

/** True for f32 where the usual way, in f64, is a long one. */
export function isInIntegers<A>(x: Expr, { target }: Pick<PointContext<A>, 'target'>): boolean {
  return x.type.scalar === 'f32' && target?.emulatesFloat64 === true;
}

/** The bits of the magnitude of a number. */
export const magnitudeBits = (x: Expr): Expr => e.and(e.bitcast('i32', x), 0x7fffffff);
export const signOf = (x: Expr): Expr => e.and(e.bitcast('i32', x), signBit);

/** The number whose magnitude has these bits, with a sign at bit 31. */
export const signed = (size: Expr, sign: Expr): Expr => e.bitcast('f32', e.or(size, sign));

/** The bits of 2^n. */
export const powerBits = (power: number): number => (127 + Math.log2(power)) << 23;

/** The bits of 2^n for a whole `n` of a normal number. */
export const powerOfTwo = (n: Expr): Expr => e.bitcast('f32', e.shl(e.add(n, 127), 23));

/** The number `significand` 2^(`exponent` - 150). */
export interface FloatParts {
  readonly significand: Expr;
  readonly exponent: Expr;
}

/** The parts of a finite magnitude, given by its bits; exponents are 1 at least, also of subnormal numbers. */
export function splitFloat(size: Expr): FloatParts {
  const field = e.shrU(size, 23);
  const leading = e.select(e.eq(field, 0), e.i32(0), 0x800000);
  return {
    significand: e.or(e.and(size, 0x7fffff), leading),
    exponent: e.max(field, 1),
  };
}

/** The parts with the leading bit at 23, also of subnormal numbers; zero remains zero. */
export function normalParts(size: Expr): FloatParts {
  const { significand, exponent } = splitFloat(size);
  const zeros = zerosAbove(significand);
  return { significand: e.shl(significand, zeros), exponent: e.sub(exponent, zeros) };
}

/** The bits of a number with a significand below 2^24 and an exponent of 1 at least. */
export function fromParts({ significand, exponent }: FloatParts): Expr {
  const least = e.sub(exponent, 1);
  const shift = e.min(zerosAbove(significand), least);
  // The leading bit of the significand adds 1 to the exponent.
  const bits = e.add(e.shl(e.sub(least, shift), 23), e.shl(significand, shift));
  return e.select(e.eq(significand, 0), 0, bits);
}

/** The zeros above the highest bit of a significand, up to bit 23. */
const zerosAbove = (significand: Expr): Expr => e.sub(leadingZeros(e.max(significand, 1)), 8);
