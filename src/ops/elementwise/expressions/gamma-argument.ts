import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import { polynomialFit, type FixedPolynomial } from './fixed-polynomial.js';
import { highProduct, leadingZeros, lowWord, type Magnitude, normalized, wideSum, wideTimes } from './fixed-point.js'; // prettier-ignore
import { type FloatParts, infinityBits, magnitudeBits, normalParts, powerBits, signOf } from './float-bits.js'; // prettier-ignore
import { fractionOf } from './integer-division.js';

/*
 * Where gamma functions of f32 are computed: right of a bound at the argument itself, left of it one further on, at
 * 1 + |x|, from where recurrence or reflection lead back.
 */

/** The argument of a gamma function. */
export interface GammaArgument {
  readonly x: Expr;
  /** Bits of the magnitude. */
  readonly size: Expr;
  readonly isNegative: Expr;
  /** True for arguments that are used themselves. */
  readonly isDirect: Expr;
  /** True where the asymptotic series serve, in 1 / |x|: from 8 on, and up to -7. */
  readonly isFar: Expr;
  /** The argument that is used, less 1; an exact f32. Not for those far off. */
  readonly above: Expr;
  /** 2^28 times the argument that is used. Not for those far off. */
  readonly fixed: Expr;
  /** The zeros above its highest bit: 4 from 1/2 on, 3 from 1 on, 2 from 2 on, 1 from 4 on. */
  readonly zeros: Expr;
  /** The magnitude of `x`. */
  readonly parts: FloatParts;
  /** 2^63 over the significand, times 2^23. */
  readonly inverse: Expr;
  /** Variable of fits, times 2^32: the place of the argument between two powers of two, or 4 / |x| far off. */
  readonly fraction: Expr;
}

/** The argument, which is used itself from a power of two on. */
export function gammaArgument(x: Expr, directFrom: number): GammaArgument {
  const size = magnitudeBits(x);
  const isNegative = e.ne(signOf(x), 0);
  const isDirect = e.ge(e.bitcast('i32', x), powerBits(directFrom));
  const isFar = e.ge(size, e.select(isNegative, e.i32(sevenBits), powerBits(8)));
  const above = e.select(isDirect, e.sub(x, 1), e.abs(x));
  const fixed = e.add(e.cast('i32', e.nearest(e.mul(above, 2 ** 28))), 2 ** 28);
  const zeros = leadingZeros(e.max(fixed, 1));
  const parts = normalParts(size);
  const inverse = fractionOf(e.i32(2 ** 22), parts.significand).high;
  const shift = e.sub(parts.exponent, 130);
  const far = e.select(e.lt(shift, 0), e.shl(inverse, 1), e.shrU(inverse, e.min(shift, 31)));
  const fraction = e.select(isFar, far, e.shl(e.shl(fixed, zeros), 1));
  return { x, size, isNegative, isDirect, isFar, above, fixed, zeros, parts, inverse, fraction };
}

const sevenBits = 0x40e00000;

/** Fits of a function between powers of two, from one on up to 8. */
export function fitsBelow8(from: number, f: (x: number) => number): readonly FixedPolynomial[] {
  const fits: FixedPolynomial[] = [];
  for (let low = from; low < 8; low *= 2) fits.push(polynomialFit((t) => f(low * (1 + t))));
  return fits;
}

/** The one of some values that belongs to the argument: between powers of two up to 8, and for those far off. */
export function chosenFor(
  { isFar, isNegative, zeros }: GammaArgument,
  near: readonly Expr[],
  far: readonly Expr[],
): Expr {
  const below = near.reduce((value, next, i) =>
    e.select(e.le(zeros, near.length - i), next, value),
  );
  return e.select(isFar, far.length > 1 ? e.select(isNegative, far[1], far[0]) : far[0], below);
}

/** Distance of `x` from the nearest whole number. */
export interface PoleDistance {
  /** Bits of the distance; for a positive `x` of `x` itself. */
  readonly size: Expr;
  /** Bits that are all set where |x| is below the whole number, else zero. */
  readonly mask: Expr;
}

export function poleDistance({ x, size, isNegative }: GammaArgument): PoleDistance {
  const y = e.abs(x);
  const rest = e.bitcast('i32', e.sub(y, e.nearest(y)));
  // A subnormal number remains what it is.
  const isRest = e.and(isNegative, e.ge(size, powerBits(0.5)));
  return {
    size: e.select(isRest, e.and(rest, 0x7fffffff), size),
    mask: e.select(isRest, e.shr(rest, 31), 0),
  };
}

/** The square of a number below 2^power, or this power, over 2^(2 power); times 2^32. */
export function squareBelow(power: Expr, { significand, exponent }: FloatParts): Expr {
  const count = e.sub(e.add(power, 126), exponent);
  const within = e.shrU(e.shl(significand, 8), e.min(e.max(count, 0), 31));
  const scaled = e.select(e.lt(count, 0), e.i32(-1), within);
  return highProduct(scaled, scaled);
}

/** The magnitude of a number of leading bit 23. */
export const magnitudeOf = ({ significand, exponent }: FloatParts): Magnitude => ({
  high: e.shl(significand, 8),
  low: e.i32(0),
  scale: e.sub(158, exponent),
});

/** A whole power of a magnitude. */
export function powerOf(x: Magnitude, exponent: number): Magnitude {
  if (exponent === 1) return x;
  const half = powerOf(x, exponent >> 1);
  const square = productOf(half, half);
  return exponent % 2 === 0 ? square : productOf(square, x);
}

function productOf(a: Magnitude, b: Magnitude): Magnitude {
  const product = wideSum(wideTimes(a, b.high), lowWord(highProduct(a.high, b.low)));
  return normalized(product, e.sub(e.add(a.scale, b.scale), 32));
}

/** `value` except at NaN, infinities, zeros, and poles left of them. */
export function exceptAtEnds(
  { x, size, isNegative }: GammaArgument,
  distance: PoleDistance,
  value: Expr,
  ends: {
    readonly zero: Expr;
    readonly pole: number;
    readonly infinity: number;
    readonly negativeInfinity: number;
  },
): Expr {
  const atPole = e.select(e.and(isNegative, e.eq(distance.size, 0)), ends.pole, value);
  const isNaN = e.gt(size, infinityBits);
  const infinite = e.select(isNaN, x, e.select(isNegative, e.constant('f32', ends.negativeInfinity), ends.infinity)); // prettier-ignore
  return e.select(e.eq(size, 0), ends.zero, e.select(e.ge(size, infinityBits), infinite, atPole));
}
