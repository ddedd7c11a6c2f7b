import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import { signedProduct, type Wide, wideSum } from './fixed-point.js';

/*
 * Polynomials in integers of 32 bits. Those of several intervals share one evaluation, which chooses among their
 * coefficients: in a shader a choice is much less than a product.
 */

/** A positive function of 0 to 1, in powers of what its argument is above 1/2. */
export interface FixedPolynomial {
  /** The function is the polynomial times 2^-scale. */
  readonly scale: number;
  /** From the constant one on; below 1, and the value of all others below 1/2. */
  readonly coefficients: readonly number[];
}

/** Nodes of a fit, more than any function needs. */
const nodes = 28;

/**
 * The function by a Chebyshev series (Clenshaw and Curtis 1960), within 2^-36 of its least value; or above it by up to
 * twice an error and two units of 32 digits, so that it is positive where the function is 0.
 */
export function polynomialFit(f: (t: number) => number, error?: number): FixedPolynomial {
  const angle = (i: number): number => (Math.PI * (i + 0.5)) / nodes;
  const values = Array.from({ length: nodes }, (_, i) => f((1 + Math.cos(angle(i))) / 2));
  const series = values.map((_, k) => {
    const sum = values.reduce((total, value, i) => total + value * Math.cos(k * angle(i)), 0);
    return (sum * (k === 0 ? 1 : 2)) / nodes;
  });
  const bound = error ?? Math.min(...values) * 2 ** -36;
  let length = nodes;
  for (let rest = 0; length > 1; length--) {
    rest += Math.abs(series[length - 1]);
    if (rest > bound) break;
  }
  series[0] += error ?? 0;
  const { scale, coefficients } = scaledUp(powersOf(series.slice(0, length)));
  // An evaluation is less than a unit off.
  const [first, ...terms] = coefficients;
  return { scale, coefficients: [error === undefined ? first : first + 2 ** -32, ...terms] };
}

/** The coefficients in powers of h of a series of Chebyshev polynomials of 2 h. */
function powersOf(series: readonly number[]): readonly number[] {
  const sum = series.map(() => 0);
  let [last, current] = [[0, 2], [1]]; // T(-1) is T(1)
  for (const factor of series) {
    current.forEach((c, k) => (sum[k] += factor * c));
    const next = [0, ...current.map((c) => 4 * c)];
    last.forEach((c, k) => (next[k] = (next[k] ?? 0) - c));
    [last, current] = [current, next];
  }
  return sum;
}

/** The polynomial times the greatest power of two for which it and its parts are within their bounds. */
function scaledUp([first, ...terms]: readonly number[]): FixedPolynomial {
  let sum = 0;
  let greatest = 0;
  for (const term of terms.toReversed()) {
    sum = Math.abs(term) + sum / 2;
    greatest = Math.max(greatest, sum);
  }
  const scale = Math.floor(-Math.log2(Math.max(2 * greatest, first + sum / 2)) - 2 ** -20);
  return { scale, coefficients: [first, ...terms].map((c) => c * 2 ** scale) };
}

/** One of the values that a list has for the polynomials of a list. */
type Choice = (values: readonly Expr[]) => Expr;

/** A positive number: `value` / 2^64, which is less than 1, times 2^-scale. */
export interface Evaluated {
  readonly value: Wide;
  readonly scale: Expr;
}

/** The value of a chosen polynomial at a fraction of 2^32. */
export function evaluated(
  list: readonly FixedPolynomial[],
  choice: Choice,
  fraction: Expr,
): Evaluated {
  const h = e.xor(fraction, e.i32(-(2 ** 31)));
  const chosenOf = (of: (polynomial: FixedPolynomial) => number): Expr =>
    choice(list.map((polynomial) => e.i32(of(polynomial))));
  // Half a unit more, since products are rounded down.
  const term = (k: number): Expr =>
    chosenOf(({ coefficients }) => Math.round((coefficients[k] ?? 0) * 2 ** 32 + 0.5));
  const length = Math.max(...list.map(({ coefficients }) => coefficients.length));
  let sum = term(length - 1);
  for (let k = length - 2; k > 0; k--) sum = e.add(term(k), signedProduct(sum, h).high);
  const high = chosenOf(({ coefficients: [c] }) => Math.floor(c * 2 ** 32));
  const low = chosenOf(({ coefficients: [c] }) => Math.floor((c * 2 ** 32 - Math.floor(c * 2 ** 32)) * 2 ** 32)); // prettier-ignore
  return {
    value: wideSum({ high, low }, signedProduct(sum, h)),
    scale: chosenOf(({ scale }) => scale),
  };
}
