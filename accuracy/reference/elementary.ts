import {
  abs, add, bitLength, compare, div, fromNumber, isNegative, isZero, magnitudeOf, mul, nearest, neg, one, precision,
  type Real, real, scale, shift, sqrt, sub, toFixed, toNumber, zero,
} from './real.js'; // prettier-ignore

/*
 * Elementary functions of `Real`. Series run in fixed point with as many more bits as the argument has zeros
 * in front, so that results are accurate relative to themselves.
 */

/** Bits in front of the first that a result keeps, for what series lose. */
const guard = 32;

function fixedBits(x: Real): number {
  return precision + guard + (isZero(x) ? 0 : Math.max(0, -magnitudeOf(x)));
}

/** The inverse tangent (`sign` -1) or its hyperbolic twin (1) of `1 / n`, in fixed point. */
function inverseTangentOfInverse(n: bigint, sign: 1n | -1n, bits: number): bigint {
  let power = (1n << BigInt(bits)) / n;
  let sum = 0n;
  for (let k = 1n, s = 1n; power !== 0n; k += 2n, s *= sign) {
    sum += (s * power) / k;
    power /= n * n;
  }
  return sum;
}

/** Enough for the angle of the greatest float64. */
const constantBits = 1600;

/** By Machin's formula. */
const piFixed: bigint =
  (16n * inverseTangentOfInverse(5n, -1n, constantBits + 16) -
    4n * inverseTangentOfInverse(239n, -1n, constantBits + 16)) >>
  16n;

export const pi: Real = real(piFixed, -constantBits);
export const ln2: Real = real(inverseTangentOfInverse(3n, 1n, 400), -399);

/** `e ** x`; beyond 2^20 in magnitude merely huge, or tiny. */
export function exp(x: Real): Real {
  if (magnitudeOf(x) >= 20) return real(1n, isNegative(x) ? -(2 ** 20) : 2 ** 20);
  if (magnitudeOf(x) < -precision) return add(one, x);
  const power = nearest(div(x, ln2));
  const rest = sub(x, mul(real(power), ln2));
  return scale(add(one, expm1NearZero(rest)), Number(power));
}

/** `e ** x - 1`. */
export function expm1(x: Real): Real {
  return magnitudeOf(x) < -1 ? expm1NearZero(x) : sub(exp(x), one);
}

function expm1NearZero(x: Real): Real {
  const bits = fixedBits(x);
  const r = toFixed(x, bits);
  let sum = 0n;
  for (let term = r, k = 2n; term !== 0n && term !== -1n; k++) {
    sum += term;
    term = shift(term * r, -bits) / k;
  }
  return real(sum, -bits);
}

/** `x ** 1 + sign * x ** 3 / 3 + x ** 5 / 5 ...` */
function inverseTangentSeries(x: Real, sign: 1n | -1n): Real {
  const bits = fixedBits(x);
  const r = toFixed(x, bits);
  const square = shift(r * r, -bits);
  let sum = 0n;
  for (let power = r, k = 1n; power !== 0n && power !== -1n; k += 2n) {
    sum += power / k;
    power = sign * shift(power * square, -bits);
  }
  return real(sum, -bits);
}

/** The natural logarithm of a positive number. */
export function log(x: Real): Real {
  const distance = sub(x, one);
  if (magnitudeOf(distance) < -4) return log1p(distance);
  const power = magnitudeOf(x);
  const m = scale(x, -power);
  const start = fromNumber(Math.log(toNumber(m)));
  const rest = log1p(sub(mul(m, exp(neg(start))), one));
  return add(mul(real(BigInt(power)), ln2), add(start, rest));
}

/** `log(1 + x)`. */
export function log1p(x: Real): Real {
  if (magnitudeOf(x) >= -4) return log(add(x, one));
  return scale(inverseTangentSeries(div(x, add(x, real(2n))), 1n), 1);
}

interface SineAndCosine {
  readonly sine: Real;
  readonly cosine: Real;
}

/** Of a number of at most 1 in magnitude. */
function turnNearZero(x: Real): SineAndCosine {
  const bits = fixedBits(x);
  const r = toFixed(x, bits);
  const square = shift(r * r, -bits);
  const series = (first: bigint, k0: bigint): bigint => {
    let sum = 0n;
    for (let term = first, k = k0; term !== 0n && term !== -1n; k += 2n) {
      sum += term;
      term = -shift(term * square, -bits) / (k * (k + 1n));
    }
    return sum;
  };
  return { sine: real(series(r, 2n), -bits), cosine: real(series(1n << BigInt(bits), 1n), -bits) };
}

function turned({ sine, cosine }: SineAndCosine, quarters: bigint): SineAndCosine {
  switch (((quarters % 4n) + 4n) % 4n) {
    case 0n:
      return { sine, cosine };
    case 1n:
      return { sine: cosine, cosine: neg(sine) };
    case 2n:
      return { sine: neg(sine), cosine: neg(cosine) };
    default:
      return { sine: neg(cosine), cosine: sine };
  }
}

/** The sine and the cosine of an angle in radians. */
export function turn(x: Real): SineAndCosine {
  if (isNegative(x)) {
    const { sine, cosine } = turn(neg(x));
    return { sine: neg(sine), cosine };
  }
  if (magnitudeOf(x) < -1) return turnNearZero(x);
  const bits = precision + 128; // multiples of a quarter turn come closer to a float than its last bit
  const quarterTurn = piFixed >> 1n;
  const fixed = shift(x.significand, x.exponent + constantBits);
  const quarters = (2n * fixed + quarterTurn) / (2n * quarterTurn);
  const rest = shift(fixed - quarters * quarterTurn, bits - constantBits);
  return turned(turnNearZero(real(rest, -bits)), quarters);
}

/** The sine and the cosine of half turns, of which the whole quarters are dropped exactly. */
export function turnOfHalves(x: Real): SineAndCosine {
  const quarters = nearest(scale(x, 1));
  const rest = sub(x, scale(real(quarters), -1));
  return turned(turnNearZero(mul(rest, pi)), quarters);
}

export function sinh(x: Real): Real {
  if (magnitudeOf(x) < 2) {
    const t = expm1(x);
    return scale(add(t, div(t, add(t, one))), -1);
  }
  const half = scale(sub(exp(abs(x)), exp(neg(abs(x)))), -1);
  return isNegative(x) ? neg(half) : half;
}

export function cosh(x: Real): Real {
  return scale(add(exp(x), exp(neg(x))), -1);
}

export function tanh(x: Real): Real {
  if (magnitudeOf(x) >= 9) return isNegative(x) ? neg(one) : one;
  const t = expm1(scale(x, 1));
  return div(t, add(t, real(2n)));
}

export function atan(x: Real): Real {
  if (isNegative(x)) return neg(atan(neg(x)));
  if (compare(x, one) > 0) return sub(scale(pi, -1), atan(div(one, x)));
  if (magnitudeOf(x) < -4) return inverseTangentSeries(x, -1n);
  const start = fromNumber(Math.atan(toNumber(x)));
  const { sine, cosine } = turnNearZero(start);
  const rest = div(sub(mul(x, cosine), sine), add(cosine, mul(x, sine)));
  return add(start, inverseTangentSeries(rest, -1n));
}

/** Of at most 1 in magnitude. */
export function asin(x: Real): Real {
  const cosine = sqrt(mul(sub(one, x), add(one, x)));
  if (isZero(cosine)) return scale(isNegative(x) ? neg(pi) : pi, -1);
  return atan(div(x, cosine));
}

/** Of at most 1 in magnitude. */
export function acos(x: Real): Real {
  if (isZero(add(one, x))) return pi;
  return scale(atan(sqrt(div(sub(one, x), add(one, x)))), 1);
}

export function asinh(x: Real): Real {
  if (isNegative(x)) return neg(asinh(neg(x)));
  const square = mul(x, x);
  return log1p(add(x, div(square, add(one, sqrt(add(one, square))))));
}

/** Of at least 1. */
export function acosh(x: Real): Real {
  const t = sub(x, one);
  return log1p(add(t, sqrt(add(scale(t, 1), mul(t, t)))));
}

/** Of less than 1 in magnitude. */
export function atanh(x: Real): Real {
  return scale(log1p(div(scale(x, 1), sub(one, x))), -1);
}

/** `|x| ** y`, for `x` other than 0. */
export function pow(x: Real, y: Real): Real {
  return exp(mul(y, log(abs(x))));
}

export { bitLength, zero };
