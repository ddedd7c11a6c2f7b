import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import {
  fractionProduct,
  highProduct,
  leadingZeros,
  lowWord,
  negatedWhere,
  shiftedDown,
  shiftedUp,
  shiftedWithin,
  type Wide,
  wideProduct,
  wideSum,
} from './fixed-point.js';
import { normalParts, signBit } from './float-bits.js';
import { fractionOf } from './integer-division.js';

/* Logarithms of f32 in integers of 32 and 64 bits, with 40 digits. Polynomials are Chebyshev fits. */

/** A number `high`:`low` times 2^-(scale + 32), its leading bit at 63; it may be zero. */
export interface Logarithm extends Wide {
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
export function logarithmOfBits(size: Expr): Logarithm {
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

const doubled = (x: Expr): Wide => ({ high: e.shrU(x, 31), low: e.shl(x, 1) });

/** The quotient of `f` 2^shift, whose leading bit is at 23, and a divisor of up to 25 bits, times 2^64. */
function ratioOf(f: Expr, divisor: Expr): { readonly shift: Expr; readonly ratio: Wide } {
  const shift = e.sub(leadingZeros(e.max(f, 1)), 8);
  return { shift, ratio: fractionOf(e.shl(f, shift), divisor) };
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

/** ln 2, times 2^32. */
const ln2 = e.i32(0xb17217f8);

/** The natural logarithm of a number that is at least as far from 1 as 1/2 and 2 are, times 2^56, with its sign. */
export function naturalLogarithm(size: Expr): Wide {
  const { high, low, scale, sign } = logarithmOfBits(size);
  const product = wideSum(wideProduct(high, ln2), lowWord(highProduct(low, ln2)));
  return negatedWhere(e.shr(sign, 31), shiftedWithin(product, e.sub(scale, 24)));
}
