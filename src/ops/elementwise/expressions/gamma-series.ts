/*
 * The gamma functions of numbers, in float64, for fits of polynomials: what the asymptotic series (Abramowitz and
 * Stegun 6.1.41, 6.3.18, 6.4.11) add to their first terms, brought far off by recurrence.
 */

/** B_2, B_4, ... */
export const bernoulliNumbers: readonly number[] = [
  1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
]; // prettier-ignore

/** Bound from which eight terms of the series are as accurate as float64. */
const farOff = 16;

const series = (x: number, factor: (k: number) => number): number =>
  bernoulliNumbers
    .slice(0, 8)
    .reduceRight((sum, b, i) => (sum + b * factor(2 * i + 2)) / (x * x), 0);

/** log gamma(x) less (x - 1/2) (log x - 1) and `stirlingConstant`. */
export function stirlingRest(x: number): number {
  if (x >= farOff) return x * series(x, (k) => 1 / (k * (k - 1)));
  return stirlingRest(x + 1) + (x + 0.5) * Math.log1p(1 / x) - 1;
}

export const stirlingConstant: number = 0.5 * Math.log(2 * Math.PI) - 0.5;

export function logGamma(x: number): number {
  return (x - 0.5) * (Math.log(x) - 1) + stirlingConstant + stirlingRest(x);
}

/** log x - 1 / (2 x) less digamma(x). */
export function digammaRest(x: number): number {
  if (x >= farOff) return series(x, (k) => 1 / k);
  return digammaRest(x + 1) + 0.5 / x + 0.5 / (x + 1) - Math.log1p(1 / x);
}

export function digammaOf(x: number): number {
  return Math.log(x) - 0.5 / x - digammaRest(x);
}

/** x^(s - 1) times the zeta function of Hurwitz, the sum of (x + k)^-s over all k from 0 on, for a whole s above 1. */
export function scaledZeta(s: number, x: number): number {
  if (x < farOff + s) return 1 / x + (x / (x + 1)) ** (s - 1) * scaledZeta(s, x + 1);
  return 1 / (s - 1) + 0.5 / x + series(x, (k) => risingOverFactorial(s, k));
}

/** s (s + 1) ... (s + k - 2) / k! */
function risingOverFactorial(s: number, k: number): number {
  let quotient = 1 / k;
  for (let i = 1; i < k; i++) quotient *= (s + i - 1) / i;
  return quotient;
}

/** The sum of (x + k)^-s over all k from 0 on. */
export const zeta = (s: number, x: number): number => x ** (1 - s) * scaledZeta(s, x);
