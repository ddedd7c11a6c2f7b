import * as attr from '../../base/attributes/attribute.js';
import { ArgumentError, UnsupportedError } from '../../base/errors.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { inferElementwise } from '../declare/infer.js';
import { elementwise } from '../declare/lowering.js';
import type { Unary } from '../signatures.js';
import { mul } from './arithmetic.js';
import { exactProduct, exactSum, formatOf, polynomial } from './format.js';
import { isInIntegers } from './expressions/float-bits.js';
import { bernoulliNumbers } from './expressions/gamma-series.js';
import { digammaInIntegers, logGammaInIntegers } from './expressions/integer-gamma.js';
import { logarithm } from './expressions/logarithm.js';
import { realFunction } from './point.js';
import { cotangentOfHalfTurns, sineOfHalfTurns } from './expressions/trigonometric.js';

/*
 * The logarithm of the gamma function and its derivatives. Large arguments by Stirling's series and its
 * derivatives (Abramowitz and Stegun 6.1.41, 6.3.18, 6.4.11), smaller ones brought there by recurrence,
 * negative ones by reflection. All in f64, so float32 results are rounded once. For float64: within a few
 * ulp for positive `x`; where a function crosses zero elsewhere, within a few units of 1e-16.
 */

const samples = [
  { args: [tensor(['n', 3], { low: 0.1, high: 12 })] },
  { args: [tensor(['n'], { low: -1.9, high: -1.1 })] },
  { args: [tensor(['n'], { dtype: 'int32', low: 1, high: 9 })] },
];

/** `log(abs(gamma(x)))`; infinite at 0 and the negative integers. Integers become float32. */
export const lgamma: OperatorFunction<Unary> = realFunction({
  name: 'lgamma',
  value: (x, context) =>
    isInIntegers(x, context) ? logGammaInIntegers(x) : inDouble(logarithmOfGamma)(x),
  gradient: (g, x) => mul(g, digamma(x)),
  samples,
});

/** The derivative of `lgamma`; NaN at the negative integers. Integers become float32. */
export const digamma: OperatorFunction<Unary> = realFunction({
  name: 'digamma',
  value: (x, context) =>
    isInIntegers(x, context) ? digammaInIntegers(x, 0) : inDouble(logarithmicDerivative)(x),
  gradient: (g, x) => mul(g, polygamma(1, x)),
  samples,
});

/** `polygamma(order, x)`. */
export type Polygamma = <T extends Tensor = DefaultTensor>(order: number, x: Input<T>) => T;

/** The derivative of `digamma` of an order of at least 1; NaN at the negative integers. */
export const polygamma: OperatorFunction<Polygamma> = operator({
  name: 'polygamma',
  family: 'elementwise',
  attributes: { order: attr.int },
  method: false,
  operands: 'float',
  call: (order, x) => ({ inputs: [x], attributes: { order } }),
  infer: (context) => {
    checkOrder(context.attributes.order);
    return inferElementwise('polygamma')(context);
  },
  gradient: ({ inputs: [x], grads: [g], attributes: { order } }) => [
    mul(g!, polygamma(order + 1, x)),
  ],
  lowering: elementwise<{ readonly order: number }>(([x], context) => {
    const { order } = context.attributes;
    return isInIntegers(x, context) && order <= greatestInIntegers
      ? digammaInIntegers(x, order)
      : inDouble((wide) => derivative(order, wide))(x);
  }),
  samples: [
    { args: [1, tensor(['n', 3], { low: 0.1, high: 12 })] },
    { args: [2, tensor(['n'], { low: -1.9, high: -1.1 })] },
    { args: [5, tensor(['n'], { low: 1, high: 15 })] },
  ],
});

/** Limit of the order: factorials in the series overflow above, and lose digits from about 151 on. */
const greatestOrder = 140;

/** Limit of the order of what is computed in integers where float64 is emulated. */
const greatestInIntegers = 10;

function checkOrder(order: number): void {
  const op = 'polygamma';
  const actual = String(order);
  if (order < 1) {
    throw new ArgumentError('the order is not valid', {
      op,
      expected: 'an integer of at least 1',
      actual,
      advice: 'use digamma for order 0',
    });
  }
  if (order > greatestOrder) {
    throw new UnsupportedError('the order is too large', {
      op,
      expected: `an order of at most ${greatestOrder}`,
      actual,
    });
  }
}

function inDouble(f: (x: Expr) => Expr): (x: Expr) => Expr {
  return (x) => e.cast(x.type.scalar, f(e.cast('f64', x)));
}

const polynomial64 = (x: Expr, f64: readonly number[]): Expr => polynomial(x, { f32: [], f64 });

/** Bound from which the asymptotic series are as accurate as f64. */
const farOff = 8;

/** lgamma(y) / ((y - 1) (y - 2)) in y - 3/2, for y from 1 to 2; a Chebyshev fit in 60-digit arithmetic. */
const betweenRoots: readonly number[] = [
  0.4831289505409809, -0.14595989591430594, 0.06291140107456485, -0.03130848750105327,
  0.01679709863121395, -0.009425622444829649, 0.005446457842219553, -0.0032120742206072908,
  0.0019229162321227923, -0.001164411377219605, 0.0007115202752051298, -0.00043803516132580534,
  0.00027130273545114005, -0.0001685717945035172, 0.00010541715222185904, -6.793733027397047e-5,
  4.281642862794779e-5, -2.148770252062576e-5, 1.3584275459130943e-5,
  -1.8527803997032962e-5, 1.1820969445467145e-5,
]; // prettier-ignore

function logarithmOfGamma(x: Expr): Expr {
  const magnitude = e.abs(x);
  const positive = e.select(
    e.lt(magnitude, farOff),
    smallLogarithm(magnitude),
    stirling(magnitude),
  );
  const sine = e.abs(sineOfHalfTurns(x));
  const sum = e.sub(logarithm(e.div(Math.PI, e.mul(magnitude, sine))), positive);
  const reflected = e.select(e.lt(magnitude, 2 ** -60), e.neg(logarithm(magnitude)), sum);
  const value = e.select(e.lt(x, 0), reflected, positive);
  const isPole = e.and(e.le(x, 0), e.eq(sine, 0));
  return e.select(e.or(isPole, e.eq(magnitude, Infinity)), Infinity, value);
}

function stirling(x: Expr): Expr {
  const inverse = e.div(1, x);
  const series = bernoulliNumbers.slice(0, 8).map((b, i) => b / ((2 * i + 2) * (2 * i + 1)));
  const rest = e.mul(inverse, polynomial64(e.mul(inverse, inverse), series));
  const offset = 0.5 * Math.log(2 * Math.PI) - 0.5;
  const main = e.mul(e.sub(x, 0.5), e.sub(logarithm(x), 1));
  return e.add(main, e.add(rest, offset));
}

/** For 0 <= x < 8: by recurrence to y in [1, 2), where both roots are factors. */
function smallLogarithm(x: Expr): Expr {
  const steps = e.sub(e.floor(x), 1);
  let factor: Expr = e.constant('f64', 1);
  for (let i = 1; i < farOff - 1; i++) {
    factor = e.mul(factor, e.select(e.ge(steps, i), e.sub(x, i), 1));
  }
  const below = e.lt(x, 1);
  const shift = logarithm(e.select(below, x, factor));
  const first = e.sub(x, e.add(steps, 1));
  const second = e.sub(x, e.add(steps, 2));
  const value = e.mul(e.mul(first, second), polynomial64(e.sub(first, 0.5), betweenRoots));
  return e.add(value, e.select(below, e.neg(shift), shift));
}

/** NaN at the negative integers, where the derivatives have no limit. */
function exceptAtPoles(x: Expr, value: Expr): Expr {
  return e.select(e.and(e.lt(x, 0), e.eq(e.floor(x), x)), NaN, value);
}

/** The root of digamma minus 1, as a sum. */
const root = [0.46163214496836236, -1.5522348162858677e-17] as const;

/** digamma(y) / (y - root) in y - 3/2, for y from 1 to 2; a Chebyshev fit in 90-digit arithmetic. */
const besideRoot: readonly number[] = [
  0.9510558760318328, -0.4236274212814606, 0.24054248424078697, -0.14840492305388092,
  0.09498872445289039, -0.06192213327548831, 0.040760833940846085, -0.026975796659787055,
  0.017907248317313294, -0.011908220105959716, 0.007927021796868154, -0.005279937255532708,
  0.003518106563802472, -0.0023454947397380833, 0.0015633696313653504, -0.0010364584817312839,
  0.0006909255761282986, -0.00048595039220036254, 0.00032395945401345196, -0.00014480643368061614,
  9.653646261410062e-5, -0.0001782188548855923, 0.00011881232908510335,
]; // prettier-ignore

function logarithmicDerivative(x: Expr): Expr {
  const negative = e.lt(x, 0);
  const below = e.lt(x, 1);
  // All exact: arguments between 0 and 1 are brought to the next interval, and so are mirrored ones.
  const offset = e.select(negative, e.neg(x), e.select(below, x, e.sub(x, 1)));
  const far = stirlingDerivative(e.select(negative, e.sub(1, x), x));
  const positive = e.select(e.lt(offset, farOff - 1), nextToRoot(offset), far);
  const mirrored = e.sub(positive, e.mul(cotangentOfHalfTurns(x), Math.PI));
  const smaller = e.select(below, e.sub(positive, e.div(1, x)), positive);
  const value = exceptAtPoles(x, e.select(negative, mirrored, smaller));
  return e.select(e.eq(x, 0), oddPole(x), e.select(e.eq(x, Infinity), x, value));
}

/** -1/x at a zero: its limit from the side of the zero's sign. */
function oddPole(x: Expr): Expr {
  return formatOf(x).withSignOf(e.constant('f64', Infinity), e.neg(x));
}

/** digamma(1 + x) for 0 <= x < 7: by recurrence from between 1 and 2, where the root is a factor. */
function nextToRoot(x: Expr): Expr {
  const steps = e.floor(x);
  const rest = e.sub(x, steps);
  const distance = e.sub(e.sub(rest, root[0]), root[1]);
  let sum: Expr = e.constant('f64', 0);
  for (let i = farOff - 2; i >= 1; i--) {
    const term = e.div(1, e.sub(x, e.sub(steps, i)));
    sum = e.add(sum, e.select(e.ge(steps, i), term, 0));
  }
  return e.add(sum, e.mul(distance, polynomial64(e.sub(rest, 0.5), besideRoot)));
}

function stirlingDerivative(x: Expr): Expr {
  const inverse = e.div(1, x);
  const z = e.mul(inverse, inverse);
  const series = bernoulliNumbers.slice(0, 9).map((b, i) => b / (2 * i + 2));
  const rest = e.add(e.mul(inverse, 0.5), e.mul(z, polynomial64(z, series)));
  return e.sub(logarithm(x), rest);
}

function factorial(n: number): number {
  return n <= 1 ? 1 : n * factorial(n - 1);
}

/** A number with more digits than a float: an unevaluated sum. */
type Pair = readonly [Expr, Expr];

function power(x: Pair, exponent: number): Pair {
  if (exponent === 1) return x;
  const [half, lost] = power(x, exponent >> 1);
  const [square, error] = exactProduct(half, half);
  const rest = e.add(error, e.mul(e.mul(half, 2), lost));
  if (exponent % 2 === 0) return [square, rest];
  const [whole, last] = exactProduct(square, x[0]);
  return [whole, e.add(last, e.add(e.mul(rest, x[0]), e.mul(square, x[1])))];
}

/**
 * `factor` x^-exponent for a positive number, which is scaled where its power would overflow and the result
 * does not. A factor for numbers above 1 may be as large as the format allows.
 */
function inversePower([x, lost]: Pair, exponent: number, factor: Expr): Expr {
  const step = Math.floor(500 / exponent);
  const scale = (by: number): Expr =>
    e.select(
      e.lt(x, 2 ** -step),
      e.constant('f64', 2 ** by),
      e.select(e.gt(x, 2 ** step), e.constant('f64', 2 ** -by), 1),
    );
  const scaled: Pair = [e.mul(x, scale(step)), e.mul(lost, scale(step))];
  const [whole, rest] = power(scaled, exponent);
  const inverse = e.div(1, whole);
  const [product, error] = exactProduct(whole, inverse);
  const excess = e.add(e.add(e.sub(product, 1), error), e.mul(rest, inverse));
  const isWithin = e.and(e.lt(inverse, Infinity), e.lt(whole, Infinity));
  const corrected = e.select(isWithin, e.sub(inverse, e.mul(inverse, excess)), inverse);
  return e.mul(e.mul(corrected, factor), scale(step * exponent));
}

/** The derivative of `digamma` of an order. */
function derivative(order: number, x: Expr): Expr {
  const negative = e.lt(x, 0);
  const [mirrored, lost] = exactSum(e.constant('f64', 1), e.neg(x));
  const argument = e.select(negative, mirrored, x);
  const beyond = (steps: Expr): Pair => {
    const [sum, error] = exactSum(argument, steps);
    return [sum, e.add(error, e.select(negative, lost, 0))];
  };
  const bound = farOff + order;
  const steps = e.max(e.ceil(e.sub(bound, argument)), 0);
  // Smallest term first.
  let shifted: Expr = e.constant('f64', 0);
  for (let i = bound - 1; i >= 0; i--) {
    const term = inversePower(beyond(e.constant('f64', i)), order + 1, e.constant('f64', 1));
    shifted = e.add(shifted, e.select(e.gt(steps, i), term, 0));
  }
  const [far, rest] = beyond(steps);
  const inverse = e.div(1, far);
  const z = e.mul(inverse, inverse);
  const series = bernoulliNumbers.map(
    (b, i) => (b * factorial(2 * i + 1 + order)) / factorial(2 * i + 2),
  );
  const head = e.add(e.mul(inverse, factorial(order) / 2), factorial(order - 1));
  const tail = inversePower([far, rest], order, e.add(head, e.mul(z, polynomial64(z, series))));
  const sum = e.add(tail, e.mul(shifted, factorial(order)));
  const positive = order % 2 === 1 ? sum : e.neg(sum);
  const reflected = e.sub(
    order % 2 === 1 ? e.neg(positive) : positive,
    e.mul(
      polynomial64(cotangentOfHalfTurns(x), cotangentDerivative(order)),
      Math.PI ** (order + 1),
    ),
  );
  const atZero = order % 2 === 1 ? e.constant('f64', Infinity) : oddPole(x);
  const value = exceptAtPoles(x, e.select(negative, reflected, positive));
  return e.select(e.eq(x, 0), atZero, value);
}

/** The derivative of cot(pi x) over pi^order, as a polynomial in the cotangent: c' is -(1 + c^2). */
function cotangentDerivative(order: number): readonly number[] {
  let coefficients: readonly number[] = [0, 1];
  for (let i = 0; i < order; i++) {
    const next = Array.from({ length: coefficients.length + 1 }, () => 0);
    coefficients.forEach((c, k) => {
      if (k === 0) return;
      next[k - 1] -= k * c;
      next[k + 1] -= k * c;
    });
    coefficients = next;
  }
  return coefficients;
}
