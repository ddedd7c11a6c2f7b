import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import { type Coefficients, exactProduct, formatOf, polynomial } from '../format.js';
import { exponentialOfSum } from './exponential.js';

/*
 * The error function. Near 0 an odd polynomial; elsewhere exp(-x^2) P(t) / (1 + 2 x) with
 * t = (x - K) / (x + K), one polynomial for all x >= 0 (Shepherd and Laframboise 1981), and with the
 * square kept as a sum of two numbers since the exponential magnifies its rounding. Within 3 ulp; the
 * tail of the complement, down to denormals, too.
 */

/** The error function of a float expression. */
export function errorFunction(x: Expr): Expr {
  const magnitude = bound(x);
  const far = e.sub(1, tail(magnitude, exactProduct(magnitude, magnitude)));
  return e.select(e.lt(magnitude, 1), nearZero(x), formatOf(x).withSignOf(far, x));
}

/** 1 minus the error function. */
export function errorComplement(x: Expr): Expr {
  const magnitude = bound(x);
  const far = refinedTail(magnitude, exactProduct(magnitude, magnitude));
  const outside = e.select(e.lt(x, 0), e.sub(2, far), far);
  return e.select(e.lt(magnitude, 0.5), e.sub(1, nearZero(x)), outside);
}

/** `x` times the standard normal distribution function of `x`. */
export function normalProduct(x: Expr): Expr {
  // Beyond the bound the tail is 0.
  const magnitude = e.min(e.abs(x), formatOf(x).pick(15, 39));
  const [square, error] = exactProduct(magnitude, magnitude);
  // The exponent is computed from `x`: the rounded multiple's would be wrong by many ulp.
  const halves: Sum = [e.mul(square, 0.5), e.mul(error, 0.5)];
  const factor = e.mul(magnitude, 0.5);
  const scaled = e.mul(magnitude, Math.SQRT1_2);
  const lost = x.type.scalar === 'f32' ? null : lostByRoot(magnitude);
  const rest = refinedTail(scaled, halves, factor, lost);
  const far = e.select(e.lt(x, 0), e.neg(rest), e.sub(x, rest));
  const near = e.mul(x, e.add(e.mul(nearZero(e.mul(x, Math.SQRT1_2)), 0.5), 0.5));
  return e.select(e.lt(scaled, 0.5), near, far);
}

/** Rounding error of the product of an f64 and the root of 1/2. */
function lostByRoot(x: Expr): Expr {
  const [, error] = exactProduct(x, e.constant('f64', Math.SQRT1_2));
  return e.add(error, e.mul(x, -4.833646656726457e-17));
}

/** erf x / x in x^2, up to x = 1 */
const center: Coefficients = {
  f32: [
    1.12837917, -0.376126267, 0.112835947, -0.026854212, 0.00518908742, -0.000801686429, 7.87587506e-5,
  ],
  f64: [
    1.1283791670955126, -0.37612638903183543, 0.11283791670945006, -0.02686617064323777,
    0.0052239776071164225, -0.0008548325975389692, 0.00012055294904839707,
    -1.492473690741966e-5, 1.6447424703317362e-6, -1.6208483801871705e-7,
    1.3720064546777686e-8, -7.795898827002142e-10,
  ],
}; // prettier-ignore

/** exp(x^2) (1 + 2x) times the complement, in (x - K) / (x + K) */
const scaledTail: Coefficients = {
  f32: [
    1.23751263, -0.140240659, 0.00358543802, 0.0822784339, -0.108804565, 0.0922906917, -0.058688252,
    0.0284094304, -0.0097646905, 0.00167573425, 0.000325388465, -0.00022405205, 2.36348201e-5,
  ],
  f64: [
    1.2375126308378275, -0.14024059858554697, 0.003585415485463775, 0.08227673849014516,
    -0.10880393014171785, 0.09230432116037876, -0.058693398590212366, 0.028362277418940665,
    -0.00974657955250424, 0.0017556258530017114, 0.00029371363428499375, -0.00029015408097946113,
    5.164921139076899e-5, 2.238424031403088e-5, -1.1444412439365664e-5,
    -9.735619011484009e-7, 1.7520579705369148e-6, -5.721597301827045e-8, -2.591069692389326e-7,
    2.3261913631655787e-8, 3.8965452904647e-8, -3.7435681896403536e-9, -5.284287135945641e-9,
    3.1103110167700235e-10, 4.43495936752757e-10,
  ],
}; // prettier-ignore
const pivot = 3.75;

function nearZero(x: Expr): Expr {
  return e.mul(x, polynomial(e.mul(x, x), center));
}

type Sum = readonly [high: Expr, low: Expr];

/** The clamped magnitude. Beyond the bound the complement is 0; infinity would be divided by itself. */
function bound(x: Expr): Expr {
  return e.min(e.abs(x), formatOf(x).pick(11, 28));
}

/** The complement for x >= 0, given the square of `x`. */
function tail(x: Expr, [square, error]: Sum): Expr {
  const t = e.div(e.sub(x, pivot), e.add(x, pivot));
  const quotient = e.div(polynomial(t, scaledTail), e.add(e.add(x, x), 1));
  return exponentialOfSum(e.neg(square), e.neg(error), quotient);
}

/** `tail`, optionally times a factor, corrected for the rounding errors of `x`, the dividend and the divisor. */
function refinedTail(
  x: Expr,
  [square, error]: Sum,
  factor: Expr | null = null,
  lost: Expr | null = null,
): Expr {
  const { scalar } = formatOf(x);
  const t = e.div(e.sub(x, pivot), e.add(x, pivot));
  const [constant, ...others] = scaledTail[scalar];
  const rest = e.mul(t, polynomial(t, { ...scaledTail, [scalar]: others }));
  const dividend = e.add(rest, constant);
  const twice = e.add(x, x);
  const divisor = e.add(twice, 1);
  const quotient = e.div(dividend, divisor);
  const missing = e.sub(1, e.sub(divisor, twice));
  const fromDivisor = lost === null ? missing : e.add(missing, e.add(lost, lost));
  const fromDividend = e.add(e.sub(constant, dividend), rest);
  // Relative to the dividend, which is between 1 and 1.25.
  const relative = e.mul(e.sub(fromDividend, e.mul(fromDivisor, quotient)), 0.88);
  const product = factor === null ? quotient : e.mul(quotient, factor);
  return exponentialOfSum(e.neg(square), e.sub(relative, error), product);
}
