import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import { type Angle, splitAngle, splitHalfTurns } from '../angle.js';
import { type Coefficients, keepingZero, polynomial } from '../format.js';

/*
 * Polynomials on [-pi/4, pi/4] (Chebyshev fits in 60-digit arithmetic) after an exact reduction of the
 * angle, for every finite argument. f32 is computed in f64.
 */

/** The sine of an angle in radians. */
export function sineExpr(x: Expr): Expr {
  return keepingZero(x, e.cast(x.type.scalar, sineOf(splitAngle(x), x)));
}

/** The cosine of an angle in radians. */
export function cosineExpr(x: Expr): Expr {
  return e.cast(x.type.scalar, cosineOf(splitAngle(x), x));
}

/** The tangent of an angle in radians. */
export function tangentExpr(x: Expr): Expr {
  const angle = splitAngle(x);
  const [s, c] = nearZero(angle, x);
  const odd = isOdd(angle);
  const quotient = e.div(e.select(odd, c, s), e.select(odd, e.neg(s), c));
  return keepingZero(x, e.cast(x.type.scalar, quotient));
}

/** The sine of half turns, an f64 expression: 0 at whole numbers exactly. */
export function sineOfHalfTurns(x: Expr): Expr {
  return sineOf(splitHalfTurns(x), x);
}

/** The cotangent of half turns, an f64 expression. */
export function cotangentOfHalfTurns(x: Expr): Expr {
  const angle = splitHalfTurns(x);
  return e.div(cosineOf(angle, x), sineOf(angle, x));
}

const isOdd = ({ quarter }: Angle): Expr => e.eq(e.abs(quarter), 1);

/** The sine and the cosine of the remainder of an angle. */
function nearZero({ rest, error }: Angle, x: Expr): readonly [sine: Expr, cosine: Expr] {
  return [sineNearZero(rest, error, x), cosineNearZero(rest, error, x)];
}

function sineOf(angle: Angle, x: Expr): Expr {
  const [sine, cosine] = nearZero(angle, x);
  const value = e.select(isOdd(angle), cosine, sine);
  const negative = e.or(e.eq(e.abs(angle.quarter), 2), e.eq(angle.quarter, -1));
  return e.select(negative, e.neg(value), value);
}

function cosineOf(angle: Angle, x: Expr): Expr {
  const [sine, cosine] = nearZero(angle, x);
  const value = e.select(isOdd(angle), sine, cosine);
  const negative = e.or(e.eq(e.abs(angle.quarter), 2), e.eq(angle.quarter, 1));
  return e.select(negative, e.neg(value), value);
}

/** (sin r / r - 1) / r^2 in r^2 */
const sineTail: Coefficients = {
  f32: [-0.166666667, 0.00833333187, -0.000198400867, 2.72499258e-6],
  f64: [
    -0.16666666666666666, 0.008333333333333331, -0.00019841269841265065,
    2.7557319219339167e-6, -2.5052106232447578e-8, 1.6058531618986147e-10, -7.586697117706918e-13,
  ],
}; // prettier-ignore

/** (cos r - 1 + r^2/2) / r^4 in r^2 */
const cosineTail: Coefficients = {
  f32: [0.0416666647, -0.0013888303, 2.45479421e-5],
  f64: [
    0.041666666666666664, -0.0013888888888887398, 2.480158729876569e-5,
    -2.7557317271729793e-7, 2.08761462684032e-9, -1.1382632425521717e-11,
  ],
}; // prettier-ignore

/** The polynomial in f64 with the coefficients that the precision of `x` needs. */
function tailOf(z: Expr, tail: Coefficients, x: Expr): Expr {
  return polynomial(z, { f32: [], f64: x.type.scalar === 'f32' ? tail.f32 : tail.f64 });
}

/** sin r / r for an f64 of at most pi/4 in magnitude, as accurate as `x` needs. */
export function sineRatio(r: Expr, x: Expr): Expr {
  const z = e.mul(r, r);
  return e.add(e.mul(z, tailOf(z, sineTail, x)), 1);
}

/** The sine of r + error; small terms are added first, and rounded with the rest only once. */
function sineNearZero(r: Expr, error: Expr | null, x: Expr): Expr {
  const z = e.mul(r, r);
  const tail = e.mul(e.mul(r, z), tailOf(z, sineTail, x));
  if (error === null) return e.add(r, tail);
  return e.add(r, e.add(tail, e.sub(error, e.mul(e.mul(error, z), 0.5))));
}

function cosineNearZero(r: Expr, error: Expr | null, x: Expr): Expr {
  const z = e.mul(r, r);
  const half = e.mul(z, 0.5);
  const top = e.sub(1, half);
  // Rounding error of 1 - z/2.
  const lost = e.sub(e.sub(1, top), half);
  const small = e.add(lost, e.mul(e.mul(z, z), tailOf(z, cosineTail, x)));
  return e.add(top, error === null ? small : e.sub(small, e.mul(error, r)));
}
