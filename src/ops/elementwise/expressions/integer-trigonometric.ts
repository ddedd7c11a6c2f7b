import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import {
  borrowOf,
  floatOf,
  fractionProduct,
  leadingZeros,
  type Magnitude,
  normalized,
  quotient,
  shiftedUp,
  wideProduct,
} from './fixed-point.js';
import { powerBits, infinityBits, signBit, signOf, magnitudeBits } from './float-bits.js';

/*
 * Trigonometric functions of f32 in integers of 32 bits (Payne and Hanek 1983). An angle is multiplied by those
 * 96 bits of 2 / pi that decide about its quarter turn and 94 bits behind it; polynomials (Chebyshev fits in
 * 40-digit arithmetic) have 32 digits, and results are rounded once.
 */

/** 32 zeros and the first 224 bits of 2 / pi. */
const inverseQuarter = [
  0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
].map(e.i32); // prettier-ignore

/** 2^31 times pi / 2; what is behind it is a seventh of a unit of 32 digits. */
const quarterTurn = e.i32(0xc90fdaa2);

/** An angle as quarter turns and a remainder of at most pi / 4. */
interface IntegerAngle {
  /** Modulo 4. */
  readonly quarter: Expr;
  readonly rest: Magnitude;
  /** Bits that are all set for a negative remainder, else zero. */
  readonly isNegative: Expr;
}

/** The sine of an f32 in radians. */
export function sineInIntegers(x: Expr): Expr {
  const angle = splitRadians(magnitudeBits(x));
  const value = floatOf(sineMagnitude(angle, angle.quarter), e.xor(sineSign(angle, angle.quarter), signOf(x))); // prettier-ignore
  return finite(x, e.select(isTiny(x), x, value));
}

/** The cosine of an f32 in radians. */
export function cosineInIntegers(x: Expr): Expr {
  const angle = splitRadians(magnitudeBits(x));
  const quarter = e.add(angle.quarter, 1);
  return finite(x, floatOf(sineMagnitude(angle, quarter), sineSign(angle, quarter)));
}

/** The tangent of an f32 in radians. */
export function tangentInIntegers(x: Expr): Expr {
  const angle = splitRadians(magnitudeBits(x));
  const { quarter } = angle;
  const next = e.add(quarter, 1);
  const sign = e.xor(e.xor(sineSign(angle, quarter), sineSign(angle, next)), signOf(x));
  const value = floatOf(quotient(sineMagnitude(angle, quarter), sineMagnitude(angle, next)), sign);
  return finite(x, e.select(isTiny(x), x, value));
}

/** The sine of pi times an f32, divided by pi times the f32. */
export function sincInIntegers(x: Expr): Expr {
  const size = magnitudeBits(x);
  // Greater ones are even.
  const reduced = e.bitcast('f32', e.select(e.ge(size, powerBits(2 ** 24)), 0, size));
  const quarters = e.nearest(e.mul(reduced, 2));
  const fraction = e.bitcast('i32', e.sub(reduced, e.mul(quarters, 0.5)));
  const rest = halfTurns(e.and(fraction, 0x7fffffff));
  const angle = { quarter: e.cast('i32', quarters), rest, isNegative: e.shr(fraction, 31) };
  const ratio = quotient(sineMagnitude(angle, angle.quarter), halfTurns(size));
  const value = floatOf(ratio, sineSign(angle, angle.quarter));
  // The sine of a whole number has one sign on either side of 0.
  const isZero = e.and(e.eq(e.and(fraction, 0x7fffffff), 0), e.eq(e.and(angle.quarter, 1), 0));
  const zero = e.bitcast('f32', e.xor(sineSign({ ...angle, isNegative: e.i32(0) }, angle.quarter), signOf(x))); // prettier-ignore
  return finite(x, e.select(isTiny(x), 1, e.select(isZero, zero, value)));
}

/** True where the first term of a series is the result: x^2 / 3 and (pi x)^2 / 6 are less than half an ulp. */
const isTiny = (x: Expr): Expr => e.lt(magnitudeBits(x), powerBits(2 ** -13));

/** `value`, or NaN for an infinite `x` and for NaN. */
function finite(x: Expr, value: Expr): Expr {
  return e.select(e.lt(magnitudeBits(x), infinityBits), value, e.constant('f32', NaN));
}

/** The significand of a normal f32, its leading bit at 23. */
const significandOf = (bits: Expr): Expr => e.or(e.and(bits, 0x7fffff), 0x800000);
const exponentOf = (bits: Expr): Expr => e.sub(e.shrU(bits, 23), 127);

/** Splits an angle given by the bits of its magnitude. */
function splitRadians(bits: Expr): IntegerAngle {
  const [significand, exponent] = [significandOf(bits), exponentOf(bits)];
  // Two bits of the product before the fraction of a quarter turn: earlier ones are whole turns.
  const [w0, w1, w2] = inverseFrom(e.add(exponent, 7));
  const [middle, last] = [wideProduct(significand, w1), wideProduct(significand, w2)];
  const second = e.add(middle.low, last.high);
  const first = e.add(e.add(e.mul(significand, w0), middle.high), borrowOf(second, middle.low));
  const quarter = e.shrU(e.add(first, 2 ** 29), 30);
  const signed = e.sub(first, e.shl(quarter, 30));
  const isNegative = e.shr(signed, 31);
  // Negated but for the last of 94 bits.
  const [a, b, c] = [signed, second, last.low].map((word) => e.xor(word, isNegative));
  // No f32 is so near to a quarter turn that the first word would be 0.
  const zeros = leadingZeros(e.max(a, 1));
  const high = shiftedUp({ high: a, low: b }, zeros);
  const low = shiftedUp({ high: b, low: c }, zeros);
  const product = wideProduct(high, quarterTurn);
  const carried = wideProduct(low, quarterTurn).high;
  const below = e.add(product.low, carried);
  const isSmall = e.lt(bits, e.i32(0x3f490fdb)); // pi / 4
  const rest = normalized(
    {
      high: e.select(isSmall, e.shl(significand, 8), e.add(product.high, borrowOf(below, carried))),
      low: e.select(isSmall, 0, below),
    },
    e.select(isSmall, e.sub(31, exponent), e.add(zeros, 29)),
  );
  return {
    quarter: e.select(isSmall, 0, quarter),
    rest,
    isNegative: e.select(isSmall, 0, isNegative),
  };
}

/** Three words of 2 / pi, from the bit numbered `start` of `inverseQuarter`. */
function inverseFrom(start: Expr): readonly Expr[] {
  let list: readonly Expr[] = inverseQuarter;
  for (const words of [4, 2, 1]) {
    const isShifted = e.ne(e.and(start, 32 * words), 0);
    list = list
      .slice(0, 3 + words)
      .map((word, i) =>
        i + words < list.length ? e.select(isShifted, list[i + words], word) : word,
      );
  }
  const count = e.and(start, 31);
  const back = e.sub(31, count);
  return list
    .slice(0, 3)
    .map((word, i) => e.or(e.shl(word, count), e.shrU(e.shrU(list[i + 1], 1), back)));
}

/** The radians of half turns, a normal f32 given by its bits. */
function halfTurns(bits: Expr): Magnitude {
  const significand = e.shl(significandOf(bits), 8);
  return normalized(wideProduct(significand, quarterTurn), e.sub(29, exponentOf(bits)));
}

/** (1 - sin r / r) / r^2 in r^2, terms with alternating signs, times 2^34. */
const sineTerms = [0xaaaaaaab, 0x8888888, 0x340340, 0xb8ed, 0x1aa];

/** (1 - cos r) / r^2, times 2^32. */
const cosineTerms = [0x80000000, 0xaaaaaab, 0x5b05af, 0x1a013, 0x492];

/** The magnitude of the sine of a remainder and quarter turns; the rest must not be 0 where they are even. */
function sineMagnitude({ rest }: IntegerAngle, quarter: Expr): Magnitude {
  const isOdd = e.ne(e.and(quarter, 1), 0);
  const { high, low, scale } = rest;
  const fraction = e.shrU(high, e.min(e.sub(scale, 32), 31));
  const square = fractionProduct(fraction, fraction);
  const terms = sineTerms.map((term, i) => e.select(isOdd, e.i32(cosineTerms[i]), e.i32(term)));
  const [last, ...others] = terms.toReversed();
  const sum = others.reduce((value, term) => e.sub(term, fractionProduct(value, square)), last);
  const loss = wideProduct(sum, square);
  const lost = wideProduct(high, loss.high); // times 4
  const lostLow = shiftedUp(lost, e.i32(30));
  const sine = e.sub(e.sub(high, e.shrU(lost.high, 2)), borrowOf(low, lostLow));
  return normalized(
    {
      // The cosine is 2^64 less the loss, and a little less than 1 for no loss.
      high: e.select(isOdd, e.not(loss.high), sine),
      low: e.select(isOdd, e.neg(loss.low), e.sub(low, lostLow)),
    },
    e.select(isOdd, 32, scale),
  );
}

/** The sign of the sine of a remainder and quarter turns, at bit 31. */
function sineSign({ isNegative }: IntegerAngle, quarter: Expr): Expr {
  const turned = e.and(e.shl(quarter, 30), signBit);
  const isEven = e.eq(e.and(quarter, 1), 0);
  return e.xor(turned, e.select(isEven, e.and(isNegative, signBit), 0));
}
