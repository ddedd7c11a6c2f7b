import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import {
  fractionProduct,
  highProduct,
  leadingZeros,
  negatedWhere,
  shiftedDown,
  shiftedUp,
  type Wide,
  wideProduct,
  wideSum,
} from './fixed-point.js';
import { infinityBits, normalParts, type FloatParts, splitFloat, signBit, signed, signOf, magnitudeBits } from './float-bits.js'; // prettier-ignore
import { digitBits, nextDigit, wholeDigit } from './integer-division.js';

/*
 * Powers of f32 as 2^(y log2 |x|) in integers of 32 and 64 bits: the logarithm has 40 digits, relative to itself, the
 * exponent 32 behind the point, and the result is rounded once. Polynomials are Chebyshev fits.
 */

/** x ** y of f32, as IEEE 754 defines it. */
export function powerInIntegers(x: Expr, y: Expr): Expr {
  const base = magnitudeBits(x);
  const exponent = magnitudeBits(y);
  const logarithm = binaryLogarithm(base);
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

/** A number `high`:`low` times 2^-(scale + 32), its leading bit at 63; it may be zero. */
interface Logarithm extends Wide {
  readonly scale: Expr;
  /** At bit 31. */
  readonly sign: Expr;
}

/** The square root of 2, times 2^23. */
const root = 0xb504f3;

/** 2 / ln 2, times 2^62. */
const twice: Wide = { high: e.i32(0xb8aa3b29), low: e.i32(0x5c17f0bb) };

/** A third of 2 / ln 2, times 2^32. */
const twiceThird = e.i32(0xf6384ee2);

/** (2 / ln 2) (1 / 5 + z / 7 + z^2 / 9 ...); each coefficient times a sixteenth of what the one before it has. */
const logarithmTerms = [0x93bb6288, 0x6985d87, 0x521309, 0x430d5, 0x3c9a].map(e.i32);

/**
 * The binary logarithm of a positive finite number, given by its bits: k + log2(1 + f) for 1 + f between the roots
 * of 1/2 and 2, and log2(1 + f) = (2 / ln 2) (s + s^3 / 3 + s^5 / 5 ...) for s = f / (2 + f).
 */
function binaryLogarithm(size: Expr): Logarithm {
  const { significand, exponent } = normalParts(size);
  const isLarge = e.gt(significand, root);
  const k = e.sub(exponent, e.select(isLarge, e.i32(126), 127));
  const m = e.select(isLarge, significand, e.shl(significand, 1)); // times 2^24
  const f = e.sub(m, 2 ** 24);
  const isBelow = e.shr(f, 31);
  const { shift, ratio } = ratioOf(e.sub(e.xor(f, isBelow), isBelow), e.add(m, 2 ** 24));
  const s = shiftedWithin(ratio, shift);
  // Times 2^66, and its square times 2^68.
  const [a, b] = [shiftedUp(s, e.i32(2)), e.shl(s.low, 2)];
  const square = wideProduct(a, a);
  const z = wideSum(square, doubled(highProduct(a, b)));
  const factor = wideSum(twice, shiftedDown(excessOf(z), e.i32(6)));
  // Times 2^62 and 2^shift.
  const near = wideSum(
    wideSum(wideProduct(ratio.high, factor.high), lowWord(highProduct(ratio.high, factor.low))),
    lowWord(highProduct(ratio.low, factor.high)),
  );
  // Times 2^54.
  const kSign = e.shr(k, 31);
  const whole = { high: e.shl(e.sub(e.xor(k, kSign), kSign), 22), low: e.i32(0) };
  const sum = wideSum(
    whole,
    negatedWhere(e.xor(kSign, isBelow), shiftedDown(near, e.add(shift, 8))),
  );
  const isNear = e.eq(k, 0);
  const found = {
    high: e.select(isNear, near.high, sum.high),
    low: e.select(isNear, near.low, sum.low),
  };
  const zeros = leadingZeros(e.max(found.high, 1));
  return {
    high: shiftedUp(found, zeros),
    low: e.shl(found.low, zeros),
    scale: e.add(zeros, e.select(isNear, e.add(shift, 30), 22)),
    sign: e.and(e.select(isNear, isBelow, kSign), signBit),
  };
}

const lowWord = (low: Expr): Wide => ({ high: e.i32(0), low });
const doubled = (x: Expr): Wide => ({ high: e.shrU(x, 31), low: e.shl(x, 1) });

/** The quotient of `f` 2^shift, whose leading bit is at 23, and a divisor of up to 25 bits, times 2^64. */
function ratioOf(f: Expr, divisor: Expr): { readonly shift: Expr; readonly ratio: Wide } {
  const shift = e.sub(leadingZeros(e.max(f, 1)), 8);
  const scale = e.div(2 ** digitBits, e.cast('f32', divisor));
  const first = nextDigit(e.shl(f, shift), wholeDigit, divisor, scale);
  const second = nextDigit(first.rest, wholeDigit, divisor, scale);
  const third = nextDigit(second.rest, wholeDigit, divisor, scale);
  const high = e.add(e.shl(first.digit, 16), second.digit);
  // Digits have signs. Rounded down, the quotient is the same for all guesses.
  const last = e.add(third.digit, e.shr(third.rest, 31));
  const ratio = { high: e.add(high, e.shr(last, 16)), low: e.shl(last, 16) };
  return { shift, ratio };
}

/** `x` shifted to the right by 0 to 31 bits. */
function shiftedWithin(x: Wide, count: Expr): Wide {
  const back = e.sub(31, count);
  return {
    high: e.shrU(x.high, count),
    low: e.or(e.shrU(x.low, count), e.shl(e.shl(x.high, 1), back)),
  };
}

/** (2 / ln 2) (z / 3 + z^2 / 5 ...), times 2^68 as z is. */
function excessOf(z: Wide): Wide {
  const [last, ...others] = logarithmTerms.toReversed();
  const sum = others.reduce<Expr>(
    (value, term) => e.add(term, fractionProduct(value, z.high)),
    last,
  );
  const small = fractionProduct(fractionProduct(sum, z.high), z.high); // times 2^40
  const third = wideSum(wideProduct(z.high, twiceThird), lowWord(highProduct(z.low, twiceThird)));
  return wideSum(third, { high: e.shrU(small, 4), low: e.shl(small, 28) });
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
