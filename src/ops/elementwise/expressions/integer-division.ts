import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import { leadingZeros, type Wide } from './fixed-point.js';
import { fromParts, infinityBits, normalParts, splitFloat, powerOfTwo, signed, signOf, magnitudeBits } from './float-bits.js'; // prettier-ignore

/*
 * Remainders and whole quotients of f32 by long division, whose digits have 16 bits. A digit is guessed from floats,
 * to half a unit and a little, since these have 24 bits; what it leaves is exact, in two's complement. A guess that
 * is too great leaves a negative rest, and the next digit puts it right.
 */

const digitBits = 16;

/** Adding it to a float of less than 2^22 leaves the nearest integer in the low bits. */
const shifter = 1.5 * 2 ** 23;
const shifterBits = e.bitcast('i32', e.constant('f32', shifter));

interface Digit {
  readonly digit: Expr;
  /** `rest` 2^count less `digit` times the divisor. */
  readonly rest: Expr;
}

/** The next `count` bits of a quotient; `scale` is about 2^count over the divisor. */
function nextDigit(rest: Expr, count: Expr, divisor: Expr, scale: Expr): Digit {
  const guess = e.mul(e.cast('f32', rest), scale);
  const digit = e.sub(e.bitcast('i32', e.add(guess, shifter)), shifterBits);
  return { digit, rest: e.sub(e.shl(rest, count), e.mul(digit, divisor)) };
}

const wholeDigit: Expr = e.i32(digitBits);

/** The fraction of a dividend of up to 24 bits and a greater divisor of up to 25, times 2^64, with 48 digits. */
export function fractionOf(dividend: Expr, divisor: Expr): Wide {
  const scale = e.div(2 ** digitBits, e.cast('f32', divisor));
  const first = nextDigit(dividend, wholeDigit, divisor, scale);
  const second = nextDigit(first.rest, wholeDigit, divisor, scale);
  const third = nextDigit(second.rest, wholeDigit, divisor, scale);
  const high = e.add(e.shl(first.digit, digitBits), second.digit);
  // Digits have signs. Rounded down, the quotient is the same for all guesses.
  const last = e.add(third.digit, e.shr(third.rest, 31));
  return { high: e.add(high, e.shr(last, digitBits)), low: e.shl(last, digitBits) };
}

/** The bits of |x| mod |y| for a finite x and y that is not 0, given by their bits. */
function remainderOf(x: Expr, y: Expr): Expr {
  const [dividend, divisor] = [splitFloat(x), splitFloat(y)];
  const n = divisor.significand;
  const inverse = e.div(1, e.cast('f32', n));
  const scale = e.mul(inverse, 2 ** digitBits);
  const distance = e.max(e.sub(dividend.exponent, divisor.exponent), 0);
  // Subnormal divisors may be much smaller than the dividend.
  const multiple = e.nearest(e.mul(e.cast('f32', dividend.significand), inverse));
  let rest = e.sub(dividend.significand, e.mul(e.cast('i32', multiple), n));
  const first = e.and(distance, digitBits - 1);
  ({ rest } = nextDigit(rest, first, n, e.mul(inverse, powerOfTwo(first))));
  for (let at = digitBits; at < 254; at += digitBits) {
    const next = nextDigit(rest, wholeDigit, n, scale);
    rest = e.select(e.ge(distance, at), next.rest, rest);
  }
  rest = e.select(e.lt(rest, 0), e.add(rest, n), rest);
  const found = fromParts({ significand: rest, exponent: divisor.exponent });
  return e.select(e.lt(x, y), x, found);
}

/** The bits of |x| mod |y|, and the condition that there is a remainder at all. */
function remainder(x: Expr, y: Expr): readonly [rest: Expr, isDefined: Expr] {
  const [dividend, divisor] = [magnitudeBits(x), magnitudeBits(y)];
  const isNumber = e.and(e.ge(divisor, 1), e.le(divisor, infinityBits));
  return [remainderOf(dividend, divisor), e.and(e.lt(dividend, infinityBits), isNumber)];
}

const orNaN = (isDefined: Expr, value: Expr): Expr => e.select(isDefined, value, NaN);

/** The exact remainder with the sign of `x`. */
export function truncatedRemainderInIntegers(x: Expr, y: Expr): Expr {
  const [rest, isDefined] = remainder(x, y);
  return orNaN(isDefined, signed(rest, signOf(x)));
}

/** The remainder with the sign of `y`: rounded once. */
export function flooredRemainderInIntegers(x: Expr, y: Expr): Expr {
  const [rest, isDefined] = remainder(x, y);
  const isTurned = e.and(e.ne(signOf(x), signOf(y)), e.ne(rest, 0));
  const turned = e.bitcast('i32', e.sub(e.abs(y), e.bitcast('f32', rest)));
  return orNaN(isDefined, signed(e.select(isTurned, turned, rest), signOf(y)));
}

/** The floor of the exact quotient, rounded once; a zero divisor divides as floats do. */
export function flooredQuotientInIntegers(x: Expr, y: Expr): Expr {
  const [dividend, divisor] = [normalParts(magnitudeBits(x)), normalParts(magnitudeBits(y))];
  const n = divisor.significand;
  const inverse = e.div(1, e.cast('f32', n));
  const high = nextDigit(dividend.significand, e.i32(digitBits - 1), n, e.mul(inverse, 2 ** (digitBits - 1))); // prettier-ignore
  const low = nextDigit(high.rest, wholeDigit, n, e.mul(inverse, 2 ** digitBits));
  // The quotient of the significands times 2^31, rounded down.
  const isAbove = e.shr(low.rest, 31);
  const quotient = e.add(e.add(e.shl(high.digit, digitBits), low.digit), isAbove);
  const hasRest = e.ne(low.rest, 0);
  // Bits that are behind the point.
  const behind = e.sub(31, e.sub(dividend.exponent, divisor.exponent));
  const shift = e.min(e.max(behind, 0), 31);
  const whole = e.select(e.gt(behind, 31), 0, e.shrU(quotient, shift));
  const isCut = e.or(hasRest, e.ne(e.shl(whole, shift), quotient));
  const sign = e.xor(signOf(x), signOf(y));
  const isMore = e.and(isCut, e.and(e.ne(sign, 0), e.gt(behind, 0)));
  const floored = e.add(whole, e.select(isMore, e.i32(1), 0));
  const value = roundedBits(floored, hasRest, e.max(e.neg(behind), 0));
  return e.select(
    e.and(isFinite(x), e.and(e.ne(magnitudeBits(y), 0), e.le(magnitudeBits(y), infinityBits))),
    signed(value, sign),
    e.select(isDividedByZero(x, y), signed(e.i32(infinityBits), sign), NaN),
  );
}

const isFinite = (x: Expr): Expr => e.lt(magnitudeBits(x), infinityBits);

/** True where a quotient is infinite. */
const isDividedByZero = (x: Expr, y: Expr): Expr =>
  e.and(
    e.eq(magnitudeBits(y), 0),
    e.and(e.ge(magnitudeBits(x), 1), e.le(magnitudeBits(x), infinityBits)),
  );

/** The bits of an unsigned integer times 2^exponent; with `hasMore` it is a little greater. */
function roundedBits(x: Expr, hasMore: Expr, exponent: Expr): Expr {
  const zeros = e.min(e.sub(leadingZeros(e.max(e.shrU(x, 2), 1)), 2), 8);
  const up = e.shl(x, zeros);
  const kept = e.shrU(up, 8);
  // Above 128 round up; a tie does if there is more, or to an even number.
  const odd = e.or(e.and(kept, 1), e.select(hasMore, e.i32(1), 0));
  const carry = e.shrU(e.add(e.add(e.and(up, 255), 127), odd), 8);
  const bits = e.bitcast('i32', e.cast('f32', e.add(kept, carry)));
  const scaled = e.add(bits, e.shl(e.add(exponent, e.sub(8, zeros)), 23));
  const field = e.add(e.shrU(bits, 23), e.add(exponent, e.sub(8, zeros)));
  return e.select(e.eq(x, 0), 0, e.select(e.ge(field, 255), infinityBits, scaled));
}
