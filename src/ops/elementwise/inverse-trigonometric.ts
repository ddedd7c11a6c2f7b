import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type OperatorFunction, tensor } from '../declare/declare.js';
import type { Binary, Unary } from '../signatures.js';
import { add, div, mul, neg, square } from './arithmetic.js';
import { oneLessSquare, towardsOne } from './gradient-terms.js';

import { type Coefficients, formatOf, keepingZero, leadingHalf, polynomial } from './format.js';
import { knownAs } from './known.js';
import { binaryOperator, realFunction } from './point.js';
import { rsqrt } from './root.js';

/*
 * After Cephes (Moshier 1989) and fdlibm (1993): arguments are brought near 0 by the addition theorems,
 * pi and its parts are sums of two numbers. Polynomials are Chebyshev fits in 60-digit arithmetic.
 * Within 2 ulp.
 */

const insideUnit = [
  { args: [tensor(['n', 3], { low: -0.9, high: 0.9 })] },
  { args: [tensor(['n'], { dtype: 'int32', low: -1, high: 1 })], differentiable: false }, // infinite slope
];

/** The angle in [-pi/2, pi/2] with this sine; NaN beyond -1 and 1. Integers become float32. */
export const asin: OperatorFunction<Unary> = realFunction({
  name: 'asin',
  value: (x) => {
    const { near, series, outer } = arcParts(x);
    const inner = e.add(x, e.mul(x, series));
    const [high, low] = rightAngle(x);
    const rest = e.sub(high, e.add(outer[0], outer[0]));
    const angle = e.add(rest, e.sub(low, e.add(outer[1], outer[1])));
    const beyond = formatOf(x).withSignOf(angle, x);
    return keepingZero(x, e.select(near, inner, beyond));
  },
  gradient: (g, x) => mul(g, rsqrt(oneLessSquare(x))),
  onnx: 'Asin',
  samples: insideUnit,
});

/** The angle in [0, pi] with this cosine; NaN beyond -1 and 1. Integers become float32. */
export const acos: OperatorFunction<Unary> = realFunction({
  name: 'acos',
  value: (x) => {
    const { near, series, outer } = arcParts(x);
    const [high, low] = rightAngle(x);
    const inner = e.sub(high, e.sub(x, e.sub(low, e.mul(x, series))));
    const twice = e.mul(e.add(outer[0], outer[1]), 2);
    const left = e.sub(e.mul(high, 2), e.sub(twice, e.mul(low, 2)));
    return e.select(near, inner, e.select(e.lt(x, 0), left, twice));
  },
  gradient: (g, x) => neg(mul(g, rsqrt(oneLessSquare(x)))),
  onnx: 'Acos',
  samples: insideUnit,
});

/** The angle in [-pi/2, pi/2] with this tangent. Integers become float32. */
export const atan: OperatorFunction<Unary> = realFunction({
  name: 'atan',
  value: arcTangent,
  gradient: (g, x) => div(g, add(square(x), 1)),
  samples: [
    { args: [tensor(['n', 3], { low: -4, high: 4 })] },
    { args: [tensor(['n'], { dtype: 'int32' })] },
  ],
});

/**
 * The angle in [-pi, pi] of the point (x, y), as in C: `atan2(y, x)`. The signs of zeros count.
 * Integers become float32.
 */
export const atan2: OperatorFunction<Binary> = binaryOperator({
  name: 'atan2',
  operands: 'float',
  value: (y, x) => {
    const format = formatOf(x);
    const [a, b] = [e.abs(y), e.abs(x)];
    // 0 / 0 and infinity / infinity are angles of 0 and pi/4.
    const ratio = e.select(e.eq(a, b), e.select(e.eq(a, 0), a, 1), e.div(a, b));
    const acute = arcTangent(ratio);
    const [high, low] = rightAngle(x);
    const obtuse = e.sub(e.mul(high, 2), e.sub(acute, e.mul(low, 2)));
    const left = e.lt(format.withSignOf(e.constant(format.scalar, 1), x), 0);
    const value = format.withSignOf(e.select(left, obtuse, acute), y);
    return e.select(e.or(e.ne(x, x), e.ne(y, y)), NaN, value);
  },
  gradient: [(g, y, x) => overSquares(g, x, y), (g, y, x) => neg(overSquares(g, y, x))],
  samples: [
    { args: [tensor(['n', 3]), tensor([3], { low: 0.1 })] },
    { args: [tensor(['n'], { low: 0.1 }), tensor(['n'])] },
    { args: [tensor(['n'], { low: -2, high: -0.1 }), -1] },
  ],
});

/** g x / (x^2 + y^2). Squares neither overflow nor vanish; operations that may come last. */
function overSquares<T extends Tensor>(g: T, x: T, y: T): T {
  const lift = towardsOne(x, y, 'squares');
  const leg = lift(x);
  const squares = add(square(leg), square(lift(y)));
  return lift(mul(g, div(leg, squares)));
}

/** pi / 2 as a sum. */
function rightAngle(x: Expr): readonly [high: Expr, low: Expr] {
  const format = formatOf(x);
  const high = format.pick(1.5707963705062866, Math.PI / 2);
  const low = format.pick(-4.371138828673793e-8, 6.123233995736766e-17);
  return [e.constant(format.scalar, high), e.constant(format.scalar, low)];
}

/** (asin x / x - 1) / x^2 in x^2, up to x = 1/2 */
const arcSineTail: Coefficients = {
  f32: [0.166666663, 0.0750009454, 0.0445994015, 0.0311006627, 0.0171492384, 0.0336908472],
  f64: [
    0.16666666666666666, 0.07500000000000118, 0.044642857142551895, 0.03038194447553234,
    0.02237215744350722, 0.017352816540325496, 0.01396378001220357, 0.011566459612121669,
    0.009621842970100282, 0.009319560794767446, 0.0030448799094556773, 0.019554513336123378,
    -0.01924167174674304, 0.02961201126495512,
  ],
}; // prettier-ignore

/** (atan x / x - 1) / x^2 in x^2, up to x = tan(pi/8) */
const arcTangentTail: Coefficients = {
  f32: [-0.333333333, 0.199999773, -0.142841512, 0.11071365, -0.0862467615, 0.0504813851],
  f64: [
    -0.3333333333333333, 0.19999999999999804, -0.14285714285659828, 0.11111111105155447,
    -0.09090908753500877, 0.07692296375032143, -0.06666424885738255, 0.05878928997834775,
    -0.05230454270650244, 0.04551593220626549, -0.034570561981427744, 0.016285756855221028,
  ],
}; // prettier-ignore

interface ArcParts {
  /** Condition |x| < 1/2. */
  readonly near: Expr;
  /** asin(t) / t - 1, where t is |x| when near, else the square root of (1 - |x|) / 2. */
  readonly series: Expr;
  /** asin of that square root, as a sum whose first part has half the bits. */
  readonly outer: readonly [high: Expr, low: Expr];
}

/** Beyond 1/2, asin x = pi/2 - 2 asin(sqrt((1 - x) / 2)). */
function arcParts(x: Expr): ArcParts {
  const magnitude = e.abs(x);
  const near = e.lt(magnitude, 0.5);
  const z = e.select(near, e.mul(x, x), e.mul(e.sub(1, magnitude), 0.5));
  const root = e.sqrt(z);
  const series = e.mul(z, polynomial(z, arcSineTail));
  const high = leadingHalf(root);
  // Rounding error of the root; 0 / 0 at 1.
  const rest = e.div(e.sub(z, e.mul(high, high)), e.add(root, high));
  const low = e.add(e.select(e.eq(z, 0), 0, rest), e.mul(root, series));
  return { near, series, outer: [high, low] };
}

function arcTangent(x: Expr): Expr {
  const { scalar } = x.type;
  const magnitude = e.abs(x);
  const large = e.gt(magnitude, 2.414213562373095); // tan(3 pi / 8)
  const middle = e.gt(magnitude, 0.4142135623730951); // tan(pi / 8)
  const [high, low] = rightAngle(x);
  const zero = e.constant(scalar, 0);
  const numerator = e.select(large, e.constant(scalar, -1), e.select(middle, e.sub(magnitude, 1), magnitude)); // prettier-ignore
  const denominator = e.select(large, magnitude, e.select(middle, e.add(magnitude, 1), 1));
  const t = e.div(numerator, denominator);
  const z = e.mul(t, t);
  const rest = e.mul(e.mul(t, z), polynomial(z, arcTangentTail));
  const offset = e.select(large, high, e.select(middle, e.mul(high, 0.5), zero));
  const error = e.select(large, low, e.select(middle, e.mul(low, 0.5), zero));
  const value = e.add(offset, e.add(t, e.add(rest, error)));
  return knownAs('Atan', [x], keepingZero(x, formatOf(x).withSignOf(value, x)));
}
