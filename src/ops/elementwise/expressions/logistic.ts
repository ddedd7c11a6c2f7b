import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import { exactProduct, exactSum, formatOf, scaledBy } from '../format.js';
import { knownAs, withPlainForm } from '../known.js';
import { boundedExponential, exponentialParts, leastArgument } from './exponential.js';

/** 1 / (1 + e^-x) of a float expression. */
export function logistic(x: Expr): Expr {
  const decay = boundedExponential(e.neg(e.abs(x)));
  return knownAs('Sigmoid', [x], e.div(e.select(e.lt(x, 0), decay, 1), e.add(decay, 1)));
}

/** x / (1 + e^-x), also accurate where e^x is denormal. */
export function logisticProduct(x: Expr): Expr {
  return withPlainForm(product(x, leastArgument(x), e.abs(x), null), () => plainProduct(x, x));
}

/** x / (1 + e^-u) for u = a x + b x^3 with positive a and b, which are sums of two floats. */
export function cubicLogisticProduct(x: Expr, a: Constant, b: Constant): Expr {
  const format = formatOf(x);
  const least = e.max(x, format.pick(-11.5, -22)); // where it vanishes
  const magnitude = e.min(e.abs(x), format.pick(11.5, 22));
  // The exponential magnifies the rounding error of u, so that is kept.
  const [square, squareError] = exactProduct(magnitude, magnitude);
  const [b1, b2] = parts(x, b);
  const [steep, steepError] = exactProduct(square, b1);
  const [a1, a2] = parts(x, a);
  const [slope, slopeError] = exactSum(a1, steep);
  const small = e.add(e.add(slopeError, steepError), e.add(e.mul(squareError, b1), e.add(e.mul(square, b2), a2))); // prettier-ignore
  const [u, uError] = exactProduct(magnitude, slope);
  const error = e.add(uError, e.mul(magnitude, small));
  return withPlainForm(product(x, least, u, error), () => {
    const plain = e.mul(x, e.add(e.mul(e.mul(x, x), b[0]), a[0]));
    return plainProduct(x, plain);
  });
}

/** A constant as a float64 and the remainder. */
export type Constant = readonly [high: number, low: number];

/** A constant as a sum of two floats of the format. */
function parts(x: Expr, [high, low]: Constant): readonly [Expr, Expr] {
  const { scalar } = formatOf(x);
  const first = scalar === 'f32' ? Math.fround(high) : high;
  return [e.constant(scalar, first), e.constant(scalar, high - first + low)];
}

/**
 * x / (1 + e^-u), where the magnitude of u is given as a sum, its sign is that of x, and `least` bounds x
 * from below: -Infinity times 0 would be NaN.
 */
function product(x: Expr, least: Expr | number, magnitude: Expr, error: Expr | null): Expr {
  const { value, excess, powers } = exponentialParts(e.neg(magnitude));
  const correction = error === null ? null : e.mul(value, error);
  const decay = correction === null ? value : e.sub(value, correction);
  const more = correction === null ? excess : e.sub(excess, correction);
  const isNegative = e.lt(x, 0);
  const bound = typeof least === 'number' ? e.max(x, least) : least;
  // One rounding less than in the product with the decay.
  const dividend = e.select(isNegative, e.add(bound, e.mul(bound, more)), x);
  const quotient = e.div(dividend, e.add(scaledBy(decay, powers), 1));
  return e.select(isNegative, scaledBy(quotient, powers), quotient);
}

function plainProduct(x: Expr, u: Expr): Expr {
  return e.select(e.eq(x, -Infinity), 0, e.mul(x, logistic(u)));
}
