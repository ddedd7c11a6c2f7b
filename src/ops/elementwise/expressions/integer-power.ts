import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import {
  fractionProduct,
  highProduct,
  lowWord,
  negatedWhere,
  shiftedWithin,
  wideProduct,
  wideSum,
} from './fixed-point.js';
import { infinityBits, normalParts, type FloatParts, splitFloat, signBit, signed, signOf, magnitudeBits } from './float-bits.js'; // prettier-ignore
import { logarithmOfBits, type Logarithm } from './integer-logarithm.js';

/*
 * Powers of f32 as 2^(y log2 |x|) in integers of 32 and 64 bits: the logarithm has 40 digits, relative to itself, the
 * exponent 32 behind the point, and the result is rounded once. Polynomials are Chebyshev fits.
 */

/** x ** y of f32, as IEEE 754 defines it. */
export function powerInIntegers(x: Expr, y: Expr): Expr {
  const base = magnitudeBits(x);
  const exponent = magnitudeBits(y);
  const logarithm = logarithmOfBits(base);
  const sign = e.xor(logarithm.sign, signOf(y));
  const value = exponentialOf(product(logarithm, normalParts(exponent)), sign);
  const { isWhole, isOdd } = parityOf(exponent);
  const isZero = e.eq(base, 0);
  const atExtreme = e.select(e.eq(e.ne(signOf(y), 0), isZero), e.i32(infinityBits), 0);
  const isExtreme = e.or(isZero, e.eq(base, infinityBits));
  const size = e.select(isExtreme, atExtreme, value);
  const result = signed(size, e.select(isOdd, signOf(x), 0));
  const isNegative = e.and(e.ne(signOf(x), 0), e.and(e.ge(base, 1), e.lt(base, infinityBits)));
  const isNaN = e.or(e.gt(base, infinityBits), e.gt(exponent, infinityBits));
  const isUndefined = e.or(isNaN, e.and(isNegative, e.not(isWhole)));
  const isOne = e.or(e.eq(exponent, 0), e.eq(e.bitcast('i32', x), e.i32(0x3f800000)));
  return e.select(isOne, 1, e.select(isUndefined, NaN, result));
}

interface Parity {
  readonly isWhole: Expr;
  readonly isOdd: Expr;
}

/** Parity of a magnitude, given by its bits. Infinities are even. */
function parityOf(size: Expr): Parity {
  const { significand, exponent } = splitFloat(size);
  const behind = e.sub(150, exponent);
  const count = e.min(e.max(behind, 0), 24);
  const isWhole = e.eq(e.and(significand, e.sub(e.shl(e.i32(1), count), 1)), 0);
  const isOdd = e.and(e.ne(e.and(e.shrU(significand, count), 1), 0), e.ge(behind, 0));
  return { isWhole, isOdd: e.and(isWhole, isOdd) };
}

/** A nonnegative number: `whole` plus `fraction` / 2^32. */
interface FixedPoint {
  readonly whole: Expr;
  readonly fraction: Expr;
}

/** Stands for whole parts that are greater than all exponents. */
const tooGreat = 300;

/** The magnitude of the product. */
function product(logarithm: Logarithm, { significand, exponent }: FloatParts): FixedPoint {
  const factor = e.shl(significand, 8);
  const wide = wideSum(
    wideProduct(logarithm.high, factor),
    lowWord(highProduct(logarithm.low, factor)),
  );
  const right = e.sub(e.add(logarithm.scale, 126), exponent);
  const isTooGreat = e.and(e.lt(right, 22), e.ne(wide.high, 0));
  const isFar = e.ge(right, 32);
  const count = e.min(e.max(e.select(isFar, e.sub(right, 32), right), 0), 31);
  const { high, low } = shiftedWithin(wide, count);
  const isNothing = e.ge(right, 64);
  return {
    whole: e.select(isTooGreat, tooGreat, e.select(isFar, 0, high)),
    fraction: e.select(e.or(isTooGreat, isNothing), 0, e.select(isFar, high, low)),
  };
}

/** (2^x - 1) / x from 0 to 1, times 2^32. */
const exponentialTerms = [
  0xb17217f8, 0x3d7f7c01, 0xe35843c, 0x27656e6, 0x575c45, 0xa2454, 0xf206, 0x1e45,
].map(e.i32); // prettier-ignore

/** The bits of 2^x or, with a sign, 2^-x. */
function exponentialOf({ whole, fraction }: FixedPoint, sign: Expr): Expr {
  const mask = e.shr(sign, 31);
  const { high: n, low: x } = negatedWhere(mask, { high: whole, low: fraction });
  const [last, ...others] = exponentialTerms.toReversed();
  const sum = others.reduce<Expr>((value, term) => e.add(term, fractionProduct(value, x)), last);
  const excess = fractionProduct(sum, x);
  // The last bit stands for what is behind it, too.
  const value = e.or(e.shrU(excess, 1), e.or(e.and(excess, 1), signBit));
  // Subnormal numbers have fewer bits.
  const cut = e.min(e.max(e.sub(-118, n), 8), 32);
  const kept = e.shrU(value, e.sub(cut, 1));
  const even = e.shrU(kept, 1);
  const isTie = e.eq(e.shl(value, e.sub(32, cut)), signBit);
  const carry = e.and(kept, e.select(isTie, e.and(even, 1), e.i32(1)));
  const bits = e.add(e.add(e.shl(e.max(e.add(n, 126), 0), 23), even), carry);
  return e.select(e.ge(n, 128), infinityBits, e.select(e.lt(n, -150), 0, bits));
}
