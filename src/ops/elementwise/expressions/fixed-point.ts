import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';

/*
 * Numbers of 32 digits in unsigned integers, for devices whose floats have 24 digits and whose compilers rewrite
 * sums of floats. Integers are exact everywhere. All of them are i32 expressions, read as unsigned.
 */

/** An unsigned integer of 64 bits. */
export interface Wide {
  readonly high: Expr;
  readonly low: Expr;
}

/** The positive number `high`:`low` times 2^-(scale + 32). The highest bit is set. */
export interface Magnitude extends Wide {
  readonly scale: Expr;
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

/** The product of two integers with signs. */
export function signedProduct(a: Expr, b: Expr): Wide {
  const [a0, a1] = [e.and(a, 0xffff), e.shr(a, 16)];
  const [b0, b1] = [e.and(b, 0xffff), e.shr(b, 16)];
  const first = e.add(e.mul(a1, b0), e.shrU(e.mul(a0, b0), 16));
  const second = e.add(e.mul(a0, b1), e.and(first, 0xffff));
  const high = e.add(e.add(e.mul(a1, b1), e.shr(first, 16)), e.shr(second, 16));
  return { high, low: e.mul(a, b) };
}

/** The upper half of the product of two unsigned integers, rounded down. */
export const highProduct = (a: Expr, b: Expr): Expr => wideProduct(a, b).high;

/** The product of two fractions of 2^32, rounded. */
export function fractionProduct(a: Expr, b: Expr): Expr {
  const { high, low } = wideProduct(a, b);
  return e.add(high, e.shrU(low, 31));
}

/** 1 if `a < b` as unsigned integers, else 0: what `a - b` borrows, and the carry of a sum `a` that has the term `b`. */
export function borrowOf(a: Expr, b: Expr): Expr {
  const least = e.i32(-(2 ** 31));
  return e.select(e.lt(e.xor(a, least), e.xor(b, least)), e.i32(1), e.i32(0));
}

/** The sum modulo 2^64. */
export function wideSum(a: Wide, b: Wide): Wide {
  const low = e.add(a.low, b.low);
  return { high: e.add(e.add(a.high, b.high), borrowOf(low, b.low)), low };
}

/** `x`, or its negative modulo 2^64 where all bits of a mask are set rather than none. */
export function negatedWhere(mask: Expr, { high, low }: Wide): Wide {
  const isCarried = e.and(e.ne(mask, 0), e.eq(low, 0));
  return {
    high: e.add(e.xor(high, mask), e.select(isCarried, e.i32(1), 0)),
    low: e.sub(e.xor(low, mask), mask),
  };
}

/** `x` shifted to the right by 1 to 31 bits. */
export function shiftedDown({ high, low }: Wide, count: Expr): Wide {
  return { high: e.shrU(high, count), low: shiftedUp({ high, low }, e.sub(32, count)) };
}

/** The upper half of `high`:`low` shifted to the left by 1 to 31 bits. */
export function shiftedUp({ high, low }: Wide, count: Expr): Expr {
  return e.or(e.shl(high, count), e.shrU(low, e.sub(32, count)));
}

/** `x` shifted to the right by 0 to 31 bits. */
export function shiftedWithin(x: Wide, count: Expr): Wide {
  const back = e.sub(31, count);
  return {
    high: e.shrU(x.high, count),
    low: e.or(e.shrU(x.low, count), e.shl(e.shl(x.high, 1), back)),
  };
}

/** `x` shifted to the right by any number of bits from 0 on. */
export function shiftedFar(x: Wide, count: Expr): Wide {
  const moved = chosen(e.ge(count, 32), lowWord(x.high), x);
  return chosen(e.ge(count, 64), wideZero, shiftedWithin(moved, e.and(count, 31)));
}

export const wideZero: Wide = { high: e.i32(0), low: e.i32(0) };
export const lowWord = (low: Expr): Wide => ({ high: e.i32(0), low });

/** One of two numbers. */
export function chosen(condition: Expr, a: Wide, b: Wide): Wide {
  return { high: e.select(condition, a.high, b.high), low: e.select(condition, a.low, b.low) };
}

/** The number of zeros above the highest bit of an integer from 1 to 2^31 - 1. */
export function leadingZeros(x: Expr): Expr {
  // With a zero below the highest bit, the conversion does not round up to the next power of two.
  const float = e.cast('f32', e.and(x, e.not(e.shrU(x, 1))));
  return e.sub(158, e.shrU(e.bitcast('i32', float), 23));
}

/** The magnitude of a number of whose bits at most the highest one is zero. */
export function normalized({ high, low }: Wide, scale: Expr): Magnitude {
  const isNormal = e.lt(high, 0);
  return {
    high: e.select(isNormal, high, e.or(e.shl(high, 1), e.shrU(low, 31))),
    low: e.select(isNormal, low, e.shl(low, 1)),
    scale: e.select(isNormal, scale, e.add(scale, 1)),
  };
}

/** The magnitude of any number, whose leading bit may be anywhere; zero has no leading bit. */
export function normalizedFar(x: Wide, scale: Expr): Magnitude {
  const isLow = e.eq(x.high, 0);
  const { high, low } = chosen(isLow, { high: x.low, low: e.i32(0) }, x);
  const zeros = e.select(e.lt(high, 0), 0, leadingZeros(e.max(high, 1)));
  return {
    high: e.or(e.shl(high, zeros), e.shrU(e.shrU(low, 1), e.sub(31, zeros))),
    low: e.shl(low, zeros),
    scale: e.add(scale, e.add(zeros, e.select(isLow, e.i32(32), 0))),
  };
}

/** A product with 64 digits, times 2^-32. */
export function wideTimes({ high, low }: Wide, factor: Expr): Wide {
  return wideSum(wideProduct(high, factor), lowWord(highProduct(low, factor)));
}

/** A magnitude, and a mask of the bits of its sign. */
export interface SignedMagnitude extends Magnitude {
  readonly mask: Expr;
}

/** The sum, of which one term may be zero. */
export function signedSum(a: SignedMagnitude, b: SignedMagnitude): SignedMagnitude {
  const isGreater = e.lt(b.scale, a.scale);
  const [great, small] = [chosen(isGreater, b, a), chosen(isGreater, a, b)];
  const distance = e.sub(e.max(a.scale, b.scale), e.min(a.scale, b.scale));
  const one = e.i32(1);
  const term = negatedWhere(e.xor(a.mask, b.mask), shiftedFar(small, e.add(distance, 1)));
  const sum = wideSum(shiftedDown(great, one), term);
  const isTurned = e.shr(sum.high, 31);
  const scale = e.sub(e.min(a.scale, b.scale), 1);
  return {
    ...normalizedFar(negatedWhere(e.and(isTurned, e.xor(a.mask, b.mask)), sum), scale),
    mask: e.xor(e.select(isGreater, b.mask, a.mask), e.and(isTurned, e.xor(a.mask, b.mask))),
  };
}

/** The upper half, rounded, but for the greatest one, which would become 0. */
export function rounded({ high, low }: Wide): Expr {
  return e.select(e.eq(high, -1), high, e.add(high, e.shrU(low, 31)));
}

/** The quotient of two numbers, each rounded to 32 digits. */
export function quotient(dividend: Magnitude, divisor: Magnitude): Magnitude {
  const [a, b] = [rounded(dividend), rounded(divisor)];
  // 2^62 / b by floats, a little less than it is, so that no difference is negative.
  const float = e.cast('f32', e.shrU(b, 8));
  const inverse = e.cast('i32', e.mul(e.div(2 ** 30, float), 2 ** 24 * (1 - 2 ** -20)));
  const first = wideProduct(a, inverse).high;
  const taken = wideProduct(first, b);
  const low = e.shl(a, 30);
  const left = e.sub(e.sub(e.shrU(a, 2), taken.high), borrowOf(low, taken.low));
  const rest = e.or(e.shl(left, 18), e.shrU(e.sub(low, taken.low), 14));
  const second = wideProduct(rest, inverse).high;
  return normalized(
    { high: e.add(e.shl(first, 1), e.shrU(second, 15)), low: e.shl(second, 17) },
    e.sub(e.add(dividend.scale, 31), divisor.scale),
  );
}

/** A number of the normal range as f32; `sign` has a bit at 31 only. */
export function floatOf({ high, scale }: Magnitude, sign: Expr): Expr {
  const significand = e.add(e.shrU(high, 8), e.and(e.shrU(high, 7), 1));
  // The leading bit of the significand adds 1 to the exponent.
  return e.bitcast('f32', e.or(e.add(e.shl(e.sub(157, scale), 23), significand), sign));
}

/** A number as f32, rounded once: also subnormal ones, and infinity beyond the range. */
export function roundedFloat({ high, scale }: Magnitude, sign: Expr): Expr {
  const field = e.sub(158, scale);
  // Subnormal numbers have fewer bits.
  const cut = e.min(e.max(e.sub(9, field), 8), 32);
  const kept = e.shrU(high, e.sub(cut, 1));
  const significand = e.add(e.shrU(kept, 1), e.and(kept, 1));
  // The leading bit of the significand adds 1 to the exponent.
  const size = e.add(e.shl(e.max(e.sub(field, 1), 0), 23), significand);
  const finite = e.select(e.lt(field, -23), e.i32(0), size);
  return e.bitcast('f32', e.or(e.select(e.ge(field, 255), e.i32(0x7f800000), finite), sign));
}
