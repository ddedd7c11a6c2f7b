import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import { type Evaluated, evaluated, polynomialFit } from './fixed-polynomial.js';
import {
  chosen, type Magnitude, negatedWhere, normalizedFar, quotient, rounded, roundedFloat, shiftedDown, shiftedFar,
  type SignedMagnitude, signedSum, type Wide, wideProduct, wideSum, wideTimes, wideZero,
} from './fixed-point.js'; // prettier-ignore
import { type FloatParts, infinityBits, magnitudeBits, normalParts, powerBits, signBit, signed, signOf } from './float-bits.js'; // prettier-ignore
import {
  chosenFor, exceptAtEnds, fitsBelow8, type GammaArgument, gammaArgument, magnitudeOf, type PoleDistance, poleDistance,
  powerOf, squareBelow,
} from './gamma-argument.js'; // prettier-ignore
import { digammaOf, digammaRest, logGamma, scaledZeta, stirlingConstant, stirlingRest, zeta } from './gamma-series.js'; // prettier-ignore
import { fractionOf } from './integer-division.js';
import { naturalLogarithm } from './integer-logarithm.js';

/*
 * The logarithm of the gamma function and its derivatives for f32 in integers of 32 and 64 bits. Numbers of known size
 * are sums of 2^-56, others have a scale of their own; results are rounded once.
 */

const all = e.i32(-1);
const none = e.i32(0);
const maskOf = (condition: Expr): Expr => e.select(condition, all, none);
const negative = (x: Wide): Wide => negatedWhere(all, x);

/** A value below 1 of a polynomial, times 2^56. */
const fixedOf = ({ value, scale }: Evaluated): Wide => shiftedFar(value, e.add(scale, 8));

/** A number times 2^56. */
function fixedNumber(x: number): Wide {
  const high = Math.floor(x * 2 ** 24);
  return { high: e.i32(high), low: e.i32(Math.floor((x * 2 ** 24 - high) * 2 ** 32)) };
}

/**
 * log |gamma(x)|. Between 1/2 and 8 it is (x - 1) (x - 2) P(x), far off Stirling's series. Left of 1/2 it is the
 * negative of log(sin(r pi) / pi) + log gamma(1 + |x|), for the distance r to the nearest pole, and without the sine
 * between 0 and 1/2: log gamma(1 + x) - log(x).
 */
export function logGammaInIntegers(x: Expr): Expr {
  const argument = gammaArgument(x, 0.5);
  const { isNegative, isDirect, isFar, parts } = argument;
  const distance = poleDistance(argument);
  const fits = evaluated(
    [
      ...fitsBelow8(0.5, (y) => logGamma(y) / ((y - 1) * (y - 2))),
      polynomialFit((t) => stirlingRest(4 / t), 2 ** -33),
    ],
    (values) => chosenFor(argument, values.slice(0, -1), values.slice(-1)),
    argument.fraction,
  );
  const direct = besideRoots(argument.above, fits);
  const near = negatedWhere(
    e.xor(direct.mask, maskOf(e.not(isNegative))),
    shiftedFar(direct, e.max(e.sub(direct.scale, 24), 0)),
  );
  const logarithm = naturalLogarithm(argument.size);
  const offset = wideSum(
    wideSum(fixedNumber(stirlingConstant), fixedOf(fits)),
    chosen(isNegative, logarithm, wideZero),
  );
  const sum = wideSum(
    chosen(isFar, offset, near),
    chosen(e.or(isNegative, e.not(isFar)), leftOfZero(distance, isNegative), wideZero),
  );
  const mask = e.shr(sum.high, 31);
  const size = negatedWhere(mask, sum);

  // (|x| - 1/2) (log |x| - 1)
  const exponent = e.sub(parts.exponent, 127);
  const bit = e.shl(e.i32(1), e.min(e.max(e.sub(30, exponent), 0), 31));
  const main = wideTimes(
    { high: e.sub(logarithm.high, 2 ** 24), low: logarithm.low },
    e.sub(e.shl(parts.significand, 8), e.select(e.le(exponent, 30), bit, 0)),
  );
  const far = wideSum(main, negatedWhere(mask, shiftedFar(size, e.add(exponent, 1))));
  const farMask = e.shr(far.high, 31);

  const found = normalizedFar(
    chosen(isFar, negatedWhere(farMask, far), chosen(isDirect, direct, size)),
    e.select(isFar, e.sub(23, exponent), e.select(isDirect, direct.scale, 24)),
  );
  const left = e.xor(farMask, maskOf(isNegative));
  const sign = e.select(isFar, left, e.select(isDirect, direct.mask, e.not(mask)));
  const bits = e.bitcast('i32', x);
  const isRoot = e.or(e.eq(bits, powerBits(1)), e.eq(bits, powerBits(2)));
  const value = e.select(isRoot, 0, roundedFloat(found, e.and(sign, signBit)));
  return exceptAtEnds(argument, distance, value, {
    zero: e.constant('f32', Infinity),
    pole: Infinity,
    infinity: Infinity,
    negativeInfinity: Infinity,
  });
}

/** w (w - 1) P(1 + w) */
function besideRoots(w: Expr, { value, scale }: Evaluated): SignedMagnitude {
  const first = magnitudeOf(normalParts(magnitudeBits(w)));
  const second = magnitudeOf(normalParts(magnitudeBits(e.sub(w, 1))));
  // Small ones have more digits than the difference.
  const isSmall = e.lt(magnitudeBits(w), powerBits(0.5));
  const exact = e.sub(signBit, e.cast('i32', e.nearest(e.mul(w, 2 ** 31))));
  const scales = e.add(first.scale, e.select(isSmall, e.i32(31), second.scale));
  const product = wideProduct(first.high, e.select(isSmall, exact, second.high));
  return {
    ...wideTimes(product, rounded(value)),
    scale: e.sub(e.add(scale, scales), 32),
    mask: maskOf(e.and(e.gt(w, 0), e.lt(w, 1))),
  };
}

/** log(sin(r pi) / pi) for a distance r from a pole, times 2^56; for a positive number its logarithm. */
function leftOfZero({ size }: PoleDistance, isNegative: Expr): Wide {
  const ratio = polynomialFit(
    (t) => logGamma(1 + Math.sqrt(t) / 2) + logGamma(1 - Math.sqrt(t) / 2),
    2 ** -36,
  );
  const square = squareBelow(e.i32(-1), normalParts(size));
  const rest = fixedOf(evaluated([ratio], ([only]) => only, square));
  return wideSum(naturalLogarithm(size), chosen(isNegative, negative(rest), wideZero));
}

/** The root of digamma less 1, times 2^60. */
const root: Wide = { high: e.i32(0x762d863), low: e.i32(0x56be3f6e) };

/** -1 / x at a zero: its limit from the side of the zero's sign. */
const oddPole = (x: Expr): Expr => signed(e.i32(infinityBits), e.xor(signOf(x), signBit));

/**
 * Digamma, for order 0, or its derivative of an order: right of 1 by fits, far off by asymptotic series, left of 1
 * the sum of that of 1 + |x| and a term with a pole at the nearest whole number.
 */
export function digammaInIntegers(x: Expr, order: number): Expr {
  const argument = gammaArgument(x, 1);
  const { isNegative, isDirect } = argument;
  const distance = poleDistance(argument);
  const isOdd = order % 2 === 1;
  const main =
    order === 0
      ? digammaMain(argument)
      : { ...zetaMain(argument, order), mask: isOdd ? maskOf(isNegative) : all };
  const pole = poleTerm(argument, distance, order);
  // Digamma and its even derivatives change their sign at a pole.
  const poleMask = isOdd ? none : e.select(isNegative, distance.mask, all);
  const nothing = { ...wideZero, scale: e.i32(2 ** 20) };
  const other = {
    ...chosen(isDirect, nothing, pole),
    scale: e.select(isDirect, nothing.scale, pole.scale),
    mask: poleMask,
  };
  const { mask, ...sum } = signedSum(main, other);
  const value = roundedFloat(sum, e.and(mask, signBit));
  return exceptAtEnds(argument, distance, value, {
    zero: isOdd ? e.constant('f32', Infinity) : oddPole(x),
    pole: NaN,
    infinity: order === 0 ? Infinity : isOdd ? 0 : -0,
    negativeInfinity: NaN,
  });
}

/** Digamma of the argument that is used. */
function digammaMain(argument: GammaArgument): SignedMagnitude {
  const { isNegative, isFar, above, parts } = argument;
  const fits = evaluated(
    [
      ...fitsBelow8(1, (y) => digammaOf(y) / (y - 1 - 0.46163214496836236)),
      polynomialFit((t) => digammaRest(4 / t), 2 ** -36),
    ],
    (values) => chosenFor(argument, values.slice(0, -1), values.slice(-1)),
    argument.fraction,
  );
  const w = magnitudeOf(normalParts(magnitudeBits(above)));
  const difference = wideSum(shiftedFar(w, e.sub(w.scale, 28)), negative(root));
  const mask = e.shr(difference.high, 31);
  const factor = normalizedFar(negatedWhere(mask, difference), e.i32(28));
  const near = wideTimes(fits.value, rounded(factor));

  const exponent = e.sub(parts.exponent, 127);
  const half = shiftedFar({ high: argument.inverse, low: none }, e.add(exponent, 8)); // 1 / (2 |x|)
  const terms = wideSum(negatedWhere(maskOf(e.not(isNegative)), half), negative(fixedOf(fits)));
  const far = wideSum(naturalLogarithm(argument.size), terms);
  return {
    ...chosen(isFar, far, near),
    scale: e.select(isFar, 24, e.add(factor.scale, fits.scale)),
    mask: e.select(isFar, none, mask),
  };
}

const factorial = (n: number): number => (n <= 1 ? 1 : n * factorial(n - 1));

/** order! times the zeta function of Hurwitz, of order + 1 and the argument that is used. */
function zetaMain(argument: GammaArgument, order: number): Magnitude {
  const { isFar, fixed, zeros, parts } = argument;
  const scaled = (y: number): number => factorial(order) * scaledZeta(order + 1, y);
  const fits = evaluated(
    [
      ...fitsBelow8(1, scaled),
      polynomialFit((t) => scaled(4 / t)),
      // At 1 + |x|, in powers of |x|.
      polynomialFit((t) => scaled(4 / t) - (factorial(order) * t) / 4),
    ],
    (values) => chosenFor(argument, values.slice(0, -2), values.slice(-2)),
    argument.fraction,
  );
  const far = magnitudeOf(parts);
  const y: Magnitude = {
    high: e.select(isFar, far.high, e.shl(fixed, zeros)),
    low: none,
    scale: e.select(isFar, far.scale, e.add(zeros, 28)),
  };
  return quotient(normalizedFar(fits.value, e.add(fits.scale, 32)), powerOf(y, order));
}

/** The magnitude of the term with a pole: pi cot(pi r), or its derivative, for the distance r to the pole. */
function poleTerm({ isNegative }: GammaArgument, { size }: PoleDistance, order: number): Magnitude {
  const isOdd = order % 2 === 1;
  const beside = polynomialFit(
    (t) => restBeside(order, Math.sqrt(t) / 2),
    2 ** -36 * factorial(order) * 2 ** (order + 1),
  );
  if (isOdd) {
    const gap = normalParts(size);
    const rest = evaluated([beside], ([only]) => only, squareBelow(e.i32(-1), gap));
    return withPole(gap, order, { ...rest.value, scale: e.add(rest.scale, 32) }, isNegative);
  }
  // There is a root in the middle between two poles: there it is a function of the distance from the middle.
  const isMiddle = e.and(isNegative, e.gt(size, threeEighths));
  const fromMiddle = e.bitcast('i32', e.sub(0.5, e.bitcast('f32', size)));
  const gap = normalParts(e.select(isMiddle, fromMiddle, size));
  const rest = evaluated(
    [beside, polynomialFit((t) => aroundMiddle(order, Math.sqrt(t) / 8))],
    (values) => e.select(isMiddle, values[1], values[0]),
    squareBelow(e.select(isMiddle, e.i32(-3), -1), gap),
  );
  const { high, scale } = magnitudeOf(gap);
  const smooth = { ...wideTimes(rest.value, high), scale: e.add(rest.scale, scale) };
  const sum = withPole(gap, order, smooth, isNegative);
  return {
    ...chosen(isMiddle, smooth, sum),
    scale: e.select(isMiddle, smooth.scale, sum.scale),
  };
}

/** order! over a power of the distance to a pole and, under a condition, what other poles add to it or take from it. */
function withPole(gap: FloatParts, order: number, smooth: Magnitude, condition: Expr): Magnitude {
  const pole = order === 0 ? inverseOf(gap) : quotient(constantMagnitude(factorial(order)), powerOf(magnitudeOf(gap), order + 1)); // prettier-ignore
  const rest = shiftedFar(smooth, e.max(e.add(e.sub(smooth.scale, pole.scale), 2), 0));
  const term = order % 2 === 1 ? rest : negative(rest);
  return {
    ...wideSum(shiftedDown(pole, e.i32(2)), chosen(condition, term, wideZero)),
    scale: e.sub(pole.scale, 2),
  };
}

/** Poles on either side of one: what they add to its term or, divided by r, take from it where their sign differs. */
function restBeside(order: number, r: number): number {
  if (order === 0) return (digammaOf(1 + r) - digammaOf(1 - r)) / r;
  const [right, left] = [zeta(order + 1, 1 - r), zeta(order + 1, 1 + r)];
  return factorial(order) * (order % 2 === 1 ? right + left : (right - left) / r);
}

/** All poles, as seen from the middle between two, divided by the distance from there. */
function aroundMiddle(order: number, d: number): number {
  if (order === 0) return (digammaOf(0.5 + d) - digammaOf(0.5 - d)) / d;
  return (factorial(order) * (zeta(order + 1, 0.5 - d) - zeta(order + 1, 0.5 + d))) / d;
}

/** Bits of 3/8. */
const threeEighths = 0x3ec00000;

/** One over a number. */
function inverseOf({ significand, exponent }: FloatParts): Magnitude {
  return { ...fractionOf(e.i32(2 ** 22), significand), scale: e.sub(exponent, 96) };
}

function constantMagnitude(x: number): Magnitude {
  const exponent = Math.floor(Math.log2(x));
  return {
    high: e.i32(Math.floor(x * 2 ** (31 - exponent))),
    low: none,
    scale: e.i32(31 - exponent),
  };
}
