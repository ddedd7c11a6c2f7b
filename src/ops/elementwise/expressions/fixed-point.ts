import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';

/*
 * Numbers of 32 digits in unsigned integers, for devices whose floats have 24 digits and whose compilers rewrite
 * sums of floats. Integers are exact everywhere. All of them are i32 expressions, read as unsigned.
 */

/** The positive number `significand * 2^-scale`; normalized: the highest bit of the significand is set. */
export interface Magnitude {
  readonly significand: Expr;
  readonly scale: Expr;
}

/** A number of 64 bits. */
interface Wide {
  readonly high: Expr;
  readonly low: Expr;
}

/** The product of two unsigned integers. */
export function wideProduct(a: Expr, b: Expr): Wide {
  const [a0, a1] = [e.and(a, 0xffff), e.shrU(a, 16)];
  const [b0, b1] = [e.and(b, 0xffff), e.shrU(b, 16)];
  const first = e.add(e.mul(a1, b0), e.shrU(e.mul(a0, b0), 16));
  const second = e.add(e.mul(a0, b1), e.and(first, 0xffff));
  const high = e.add(e.add(e.mul(a1, b1), e.shrU(first, 16)), e.shrU(second, 16));
  return { high, low: e.mul(a, b) };
}

/** The product of two fractions of 2^32, rounded. */
export function fractionProduct(a: Expr, b: Expr): Expr {
  const { high, low } = wideProduct(a, b);
  return e.add(high, e.shrU(low, 31));
}

/** 1 if `a < b` as unsigned integers, else 0. */
export function isBelow(a: Expr, b: Expr): Expr {
  const least = e.i32(-(2 ** 31));
  return e.select(e.lt(e.xor(a, least), e.xor(b, least)), e.i32(1), e.i32(0));
}

/** The upper half of `high`:`low` shifted to the left by 1 to 31 bits. */
export function shiftedUp({ high, low }: Wide, count: Expr): Expr {
  return e.or(e.shl(high, count), e.shrU(low, e.sub(32, count)));
}

/** The number of zeros above the highest bit of an integer from 1 to 2^30. */
export function leadingZeros(x: Expr): Expr {
  // With a zero below the highest bit, the conversion does not round up to the next power of two.
  const float = e.cast('f32', e.and(x, e.not(e.shrU(x, 1))));
  return e.sub(158, e.shrU(e.bitcast('i32', float), 23));
}

/** `high`:`low` times 2^-(scale + 32), rounded; at most the highest bit of `high` is zero. */
export function normalized({ high, low }: Wide, scale: Expr): Magnitude {
  const isNormal = e.lt(high, 0);
  const significand = e.select(isNormal, high, e.or(e.shl(high, 1), e.shrU(low, 31)));
  const next = e.shrU(e.select(isNormal, low, e.shl(low, 1)), 31);
  return {
    // The greatest one would be rounded to 0.
    significand: e.select(e.eq(significand, -1), significand, e.add(significand, next)),
    scale: e.select(isNormal, scale, e.add(scale, 1)),
  };
}

/** The quotient of normalized numbers. */
export function quotient(a: Magnitude, b: Magnitude): Magnitude {
  // 2^62 / b by floats, a little less than it is, so that no difference is negative.
  const float = e.cast('f32', e.shrU(b.significand, 8));
  const inverse = e.cast('i32', e.mul(e.div(2 ** 30, float), 2 ** 24 * (1 - 2 ** -20)));
  const first = wideProduct(a.significand, inverse).high;
  const taken = wideProduct(first, b.significand);
  const left = e.sub(
    e.sub(e.shrU(a.significand, 2), taken.high),
    isBelow(e.shl(a.significand, 30), taken.low),
  );
  const low = e.sub(e.shl(a.significand, 30), taken.low);
  const rest = e.or(e.shl(left, 18), e.shrU(low, 14));
  const second = wideProduct(rest, inverse).high;
  const significand = e.add(e.shl(first, 1), e.shrU(e.add(second, 2 ** 14), 15));
  return normalized(
    { high: significand, low: e.i32(0) },
    e.sub(e.add(a.scale, 31), b.scale),
  );
}

/** A normalized number of the normal range as f32; `sign` has a bit at 31 only. */
export function floatOf({ significand, scale }: Magnitude, sign: Expr): Expr {
  const rounded = e.add(e.shrU(significand, 8), e.and(e.shrU(significand, 7), 1));
  // The leading bit of the significand adds 1 to the exponent.
  const bits = e.add(e.shl(e.sub(157, scale), 23), rounded);
  return e.bitcast('f32', e.or(bits, sign));
}
