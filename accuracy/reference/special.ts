import { exp, log, pi, turnOfHalves } from './elementary.js';
import {
  abs, add, compare, div, isNegative, isZero, magnitudeOf, mul, neg, one, precision, type Real, real, scale, shift, sqrt,
  sub, toFixed, toNumber, zero,
} from './real.js'; // prettier-ignore

/* The error function and the gamma family of `Real` (Abramowitz and Stegun, chapters 6 and 7). */

const inverseRootOfPi: Real = div(one, sqrt(pi));

/** The error function: 7.1.6, whose terms have one sign. */
export function erf(x: Real): Real {
  if (isZero(x)) return x;
  if (isNegative(x)) return neg(erf(neg(x)));
  if (magnitudeOf(x) >= 4) return one;
  const bits = precision + 64 + Math.max(0, -magnitudeOf(x));
  const square = toFixed(scale(mul(x, x), 1), bits);
  let sum = 0n;
  for (let term = toFixed(x, bits), k = 3n; term !== 0n; k += 2n) {
    sum += term;
    term = shift(term * square, -bits) / k;
  }
  return mul(mul(real(sum, -bits), scale(inverseRootOfPi, 1)), exp(neg(mul(x, x))));
}

/** What the error function lacks to 1: 7.1.14 where the difference would cancel. */
export function erfc(x: Real): Real {
  if (compare(x, real(3n)) < 0) return sub(one, erf(x));
  if (magnitudeOf(x) >= 8) return real(1n, -(2 ** 20));
  const count = Math.ceil((precision / (4 * toNumber(x))) ** 2) + 24;
  let fraction = x;
  for (let k = count; k > 0; k--) fraction = add(x, div(real(BigInt(k), -1), fraction));
  return mul(div(inverseRootOfPi, fraction), exp(neg(mul(x, x))));
}

interface Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** B_2, B_4, ... from tangent numbers (Brent and Harvey 2013, "Fast computation of Bernoulli, tangent and secant numbers"). */
const bernoulli: readonly Rational[] = (() => {
  const count = 60;
  const tangent = [0n, 1n];
  for (let k = 2; k <= count; k++) tangent[k] = BigInt(k - 1) * tangent[k - 1];
  for (let k = 2; k <= count; k++) {
    for (let j = k; j <= count; j++) {
      tangent[j] = BigInt(j - k) * tangent[j - 1] + BigInt(j - k + 2) * tangent[j];
    }
  }
  return Array.from({ length: count }, (_, i) => {
    const n = BigInt(i + 1);
    const four = 1n << (2n * n);
    const sign = n % 2n === 0n ? -1n : 1n;
    return { numerator: sign * 2n * n * tangent[i + 1], denominator: four * (four - 1n) };
  });
})();

/** Where the asymptotic series reach the precision. */
const farOff = 64;

/** sum of B_2k f(k) z^(-2k), as far as it matters. */
function asymptotic(z: Real, factor: (k: number) => Rational): Real {
  const square = mul(z, z);
  let power = one;
  let sum = zero;
  for (let k = 1; k <= bernoulli.length; k++) {
    power = div(power, square);
    const b = bernoulli[k - 1];
    const { numerator, denominator } = factor(k);
    const quotient = div(real(b.numerator * numerator), real(b.denominator * denominator));
    const term = mul(quotient, power);
    sum = add(sum, term);
    if (magnitudeOf(term) < magnitudeOf(sum) - precision) break;
  }
  return sum;
}

/** How many steps of the recurrence lead far off. */
function stepsAway(x: Real): number {
  return compare(x, real(BigInt(farOff))) >= 0 ? 0 : farOff - Math.floor(toNumber(x));
}

const whole = (n: number): Real => real(BigInt(n));

/** `log(abs(gamma(x)))`; not at the poles. */
export function lgamma(x: Real): Real {
  if (isNegative(x)) {
    const { sine } = turnOfHalves(x);
    return sub(log(div(pi, abs(mul(x, sine)))), lgamma(neg(x)));
  }
  const steps = stepsAway(x);
  let product = one;
  for (let i = 0; i < steps; i++) product = mul(product, add(x, whole(i)));
  const z = add(x, whole(steps));
  const series = mul(
    z,
    asymptotic(z, (k) => ({ numerator: 1n, denominator: BigInt(2 * k * (2 * k - 1)) })),
  );
  const main = sub(mul(sub(z, scale(one, -1)), log(z)), z);
  const far = add(add(main, scale(log(scale(pi, 1)), -1)), series);
  return sub(far, log(product));
}

/** The derivative of `lgamma`; not at the poles. */
export function digamma(x: Real): Real {
  if (isNegative(x)) {
    const { sine, cosine } = turnOfHalves(x);
    return sub(digamma(sub(one, x)), mul(pi, div(cosine, sine)));
  }
  const steps = stepsAway(x);
  let shifted = zero;
  for (let i = 0; i < steps; i++) shifted = add(shifted, div(one, add(x, whole(i))));
  const z = add(x, whole(steps));
  const series = asymptotic(z, (k) => ({ numerator: 1n, denominator: BigInt(2 * k) }));
  return sub(sub(sub(log(z), div(scale(one, -1), z)), series), shifted);
}

function factorial(n: number): bigint {
  return n <= 1 ? 1n : BigInt(n) * factorial(n - 1);
}

function integerPower(x: Real, n: number): Real {
  let power = one;
  for (let i = 0; i < n; i++) power = mul(power, x);
  return power;
}

/** The derivative of `digamma` of an order of at least 1; not at the poles. */
export function polygamma(order: number, x: Real): Real {
  if (isNegative(x)) {
    const { sine, cosine } = turnOfHalves(x);
    const reflected = mul(
      integerPower(pi, order + 1),
      cotangentDerivative(order, div(cosine, sine)),
    );
    const mirrored = polygamma(order, sub(one, x));
    return sub(order % 2 === 0 ? mirrored : neg(mirrored), reflected);
  }
  const steps = stepsAway(x);
  let shifted = zero;
  for (let i = 0; i < steps; i++) {
    shifted = add(shifted, div(one, integerPower(add(x, whole(i)), order + 1)));
  }
  const z = add(x, whole(steps));
  const inverse = integerPower(div(one, z), order);
  const series = asymptotic(z, (k) => ({
    numerator: factorial(2 * k + order - 1),
    denominator: factorial(2 * k),
  }));
  const head = add(real(factorial(order - 1)), div(real(factorial(order), -1), z));
  const sum = add(mul(inverse, add(head, series)), mul(real(factorial(order)), shifted));
  return order % 2 === 1 ? sum : neg(sum);
}

/** The derivative of cot(pi x) over pi^order, from c' = -(1 + c^2). */
function cotangentDerivative(order: number, c: Real): Real {
  let coefficients: readonly bigint[] = [0n, 1n];
  for (let i = 0; i < order; i++) {
    const next = Array.from({ length: coefficients.length + 1 }, () => 0n);
    coefficients.forEach((each, k) => {
      if (k === 0) return;
      next[k - 1] -= BigInt(k) * each;
      next[k + 1] -= BigInt(k) * each;
    });
    coefficients = next;
  }
  return coefficients.reduceRight((sum, each) => add(mul(sum, c), real(each)), zero);
}
