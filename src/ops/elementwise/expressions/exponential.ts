import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import {
  type Coefficients,
  type FloatFormat,
  formatOf,
  keepingZero,
  polynomial,
  polynomialWithSquare,
  type Powers,
  scaledBy,
} from '../format.js';
import { foreign, knownAs, withPlainForm } from '../known.js';

/*
 * Exponentials. x = n ln 2 + r with a whole n and |r| <= ln(2) / 2, where ln 2 is a sum of two numbers
 * (Cody and Waite 1980) whose first has so few bits that its product with n is exact; then e^r by a
 * polynomial. Polynomials are Chebyshev fits in 60-digit arithmetic. Within 1 ulp.
 */

/** (e^r - 1 - r) / r^2 */
const naturalTail: Coefficients = {
  f32: [0.500000001, 0.166666667, 0.041666465, 0.00833331093, 0.0013933641, 0.000198909809],
  f64: [
    0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326141,
    0.0013888888888883752, 0.00019841269874800493, 2.4801587325533363e-5,
    2.7557255425746435e-6, 2.7557273661348637e-7, 2.510520637395701e-8, 2.0914679376583935e-9,
  ],
}; // prettier-ignore

/** `naturalTail` where nothing is subtracted from e^r: a minimax fit of rounded coefficients, within 4e-9 of e^r. */
const shortTail: Coefficients = {
  f32: [0.5, 0.166665331, 0.0416672453, 0.00836762041, 0.00138634886],
  f64: naturalTail.f64,
};

/** (2^r - 1) / r - 1/2 */
const binaryTail: Coefficients = {
  f32: [0.193147188, 0.240226508, 0.0555035711, 0.00961808256, 0.00133908634, 0.000154531629],
  f64: [
    0.1931471805599453, 0.24022650695910097, 0.0555041086648216, 0.009618129107606888,
    0.0013333558146416936, 0.0001540353044173605, 1.525273382983612e-5,
    1.321544258792169e-6, 1.0178062445845774e-7, 7.0725859692492235e-9, 4.4549605981865186e-10,
  ],
}; // prettier-ignore

interface SplitExponential {
  /** e^r - 1, the sum of `r` and `rest`. */
  readonly excess: Expr;
  readonly r: Expr;
  readonly rest: Expr;
  /** The whole power of two, a float. */
  readonly power: Expr;
}

/** Splits e^x. With `refine`, the excess is accurate relative to itself, not only to e^r. */
function split(x: Expr, refine: boolean): SplitExponential {
  const format = formatOf(x);
  const power = e.nearest(e.mul(x, Math.LOG2E));
  const high = e.sub(x, e.mul(power, format.pick(0.693359375, 0.6931471803691238)));
  const low = e.mul(power, format.pick(-0.00021219444005469057, 1.9082149292705877e-10));
  const r = e.sub(high, low);
  const square = e.mul(r, r);
  const series = refine ? polynomial(r, naturalTail) : polynomialWithSquare(r, square, shortTail);
  const tail = e.mul(square, series);
  // The second term is the rounding error of r.
  const rest = refine ? e.add(tail, e.sub(e.sub(high, r), low)) : tail;
  return { excess: e.add(r, rest), r, rest, power };
}

/** Clamps to where `exp`, and a multiple of it by at most the argument, are infinite or 0. */
function bounded(x: Expr): Expr {
  return e.min(aboveLeast(x), formatOf(x).pick(90, 711));
}

/** Clamps to the exponent below which even `x * e^x` is 0. */
function aboveLeast(x: Expr): Expr {
  return e.max(x, leastArgument(x));
}

/** The argument below which `x * e^x` vanishes. */
export function leastArgument(x: Expr): number {
  return formatOf(x).pick(-110, -760);
}

/** e^x of a float expression. */
export function exponential(x: Expr): Expr {
  return knownAs('Exp', [x], scaledExponential(x, 0));
}

/** e^x as `value * powers[0] * powers[1]`, so that products with it are rounded to denormals only once. */
export interface ExponentialParts {
  readonly value: Expr;
  /** The value minus 1. */
  readonly excess: Expr;
  readonly powers: Powers;
}

/** The parts of e^x for an `x` of at most 40, for which there is less to do. */
export function exponentialParts(x: Expr): ExponentialParts {
  const { excess, power } = split(aboveLeast(x), false);
  return { value: e.add(excess, 1), excess, powers: formatOf(x).powersUpToHalf(power) };
}

/** e^x of a float expression that is at most 40, or NaN. */
export function boundedExponential(x: Expr): Expr {
  const { value, powers } = exponentialParts(x);
  return knownAs('Exp', [x], scaledBy(value, powers));
}

/**
 * `factor * e^(x + error)` for an `x` of at most 40 and an error below an ulp of it; rounded to denormals only
 * once.
 */
export function exponentialOfSum(x: Expr, error: Expr, factor: Expr): Expr {
  const { value, excess, powers } = exponentialParts(x);
  // Adding factor times (exponential - 1) to the factor rounds less than the product.
  const more = e.add(excess, e.mul(error, value));
  const product = e.add(factor, e.mul(factor, more));
  return withPlainForm(scaledBy(product, powers), () => {
    const plain = exponential(x);
    return e.mul(factor, e.add(plain, e.mul(plain, error)));
  });
}

/** e^x * 2^shift, without overflow in between. */
export function scaledExponential(x: Expr, shift: number): Expr {
  const { excess, power } = split(bounded(x), false);
  return withPlainForm(
    formatOf(x).scale(e.add(excess, 1), shift === 0 ? power : e.add(power, shift)),
    () => e.mul(exponential(x), 2 ** shift),
  );
}

/** 2^x of a float expression. */
export function binaryExponential(x: Expr): Expr {
  return binaryExponentialOfSum(x, null);
}

/** 2^(x + error), where the error is below an ulp of `x`. */
export function binaryExponentialOfSum(x: Expr, error: Expr | null): Expr {
  const format = formatOf(x);
  const inside = e.min(e.max(x, format.pick(-151, -1076)), format.pick(129, 1025));
  const power = e.nearest(inside);
  const exact = e.sub(inside, power);
  const r = error === null ? exact : e.add(exact, e.select(e.eq(inside, x), error, 0));
  // 1 + r/2 is exact enough, and the rest is small.
  const half = e.mul(r, 0.5);
  const first = e.add(half, 1);
  const rest = e.add(e.mul(r, polynomial(r, binaryTail)), e.sub(half, e.sub(first, 1)));
  const value = format.scale(e.add(first, rest), power);
  if (error === null) return knownAs('Pow', [e.constant(format.scalar, 2), x], value);
  return withPlainForm(value, () => e.mul(binaryExponential(x), e.add(e.mul(error, Math.LN2), 1)));
}

/** e^x - 1 of a float expression. */
export function exponentialMinusOne(x: Expr): Expr {
  const format = formatOf(x);
  const parts = split(e.max(bounded(x), leastExponent(format)), true);
  const { excess, power } = parts;
  const large = format.scale(e.add(excess, 1), power); // where 1 is less than half an ulp
  const inRange = e.min(power, format.bias);
  const moderate =
    format.scalar === 'f32' ? minusOne(excess, inRange) : refinedMinusOne(parts, inRange);
  return withPlainForm(
    keepingZero(x, e.select(e.gt(power, format.fraction + 3), large, moderate)),
    () => plainMinusOne(x),
  );
}

/** `exponentialMinusOne` within 2 ulp for arguments between 0 and 50: fewer operations, but -0 becomes 0. */
export function moderateExponentialMinusOne(x: Expr): Expr {
  const { excess, power } = split(x, false);
  return withPlainForm(minusOne(excess, power), () => plainMinusOne(x));
}

/** e^x - 1 by Kahan's method (Higham, "Accuracy and Stability", 1.14.1): errors of e^x cancel in the quotient. */
function plainMinusOne(x: Expr): Expr {
  const power = exponential(x);
  const excess = e.sub(power, 1);
  const isClear = e.or(e.eq(excess, -1), e.eq(power, Infinity));
  const corrected = e.div(e.mul(excess, x), foreign('Log', [power]));
  return e.select(isClear, excess, e.select(e.eq(power, 1), x, corrected));
}

/** Bound below which e^x - 1 rounds to -1. */
const leastExponent = (format: FloatFormat): number => format.pick(-24, -50);

/** 2^power (1 + excess) - 1, where the power is that of a normal number. */
function minusOne(excess: Expr, power: Expr): Expr {
  const unit = formatOf(excess).powerOfTwo(power);
  return e.add(e.sub(unit, 1), e.mul(unit, excess));
}

/** `minusOne` for f64, within an ulp: where the excess cancels, it needs more digits than it has. */
function refinedMinusOne({ excess, r, rest }: SplitExponential, power: Expr): Expr {
  const twice = e.add(r, r);
  const sum = e.add(twice, 1);
  const lost = e.sub(twice, e.sub(sum, 1));
  const canceled = e.add(sum, e.add(e.add(rest, rest), lost));
  // A power whose difference to 1 has more bits than fit is added last.
  const format = formatOf(excess);
  const unit = format.powerOfTwo(power);
  const large = e.add(unit, e.sub(e.mul(unit, excess), 1));
  const usual = e.select(e.gt(power, format.fraction), large, minusOne(excess, power));
  return e.select(e.eq(power, 1), canceled, usual);
}
