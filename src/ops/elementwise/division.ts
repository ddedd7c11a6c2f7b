import * as e from '../../loop/build.js';
import type { Expr } from '../../loop/nodes.js';
import { type OperatorFunction, type Sample, tensor } from '../declare.js';
import type { Binary } from '../signatures.js';
import { div, mul, neg } from './arithmetic.js';
import { exactProduct, formatOf } from './format.js';
import { binary } from './point.js';
import { trunc } from './rounding.js';
import type { OnnxValue, OnnxWriter } from '../onnx.js';
import { isFloat } from '../../base/dtype.js';

/**
 * Whole quotients and remainders in the manner of Python: the quotient is floored, the remainder has
 * the divisor's sign. Integers never trap: a divisor of 0 gives 0 for both, and the least integer
 * divided by -1 wraps to itself.
 */

const samples: readonly Sample[] = [
  { args: [tensor(['n', 3], { low: 1.1, high: 1.9 }), tensor([3], { low: 0.96, high: 1.04 })] },
  { args: [tensor(['n'], { dtype: 'int32', low: -9, high: 9 }), tensor(['n'], { dtype: 'int32', low: -3, high: 3 })] },
  { args: [tensor(['n'], { dtype: 'uint8', low: 0, high: 255 }), 7] },
  { args: [tensor(['n'], { dtype: 'int64', low: -9, high: 9 }), -4] },
]; // prettier-ignore

const isFractional = (x: Expr): boolean => x.type.scalar === 'f32' || x.type.scalar === 'f64';

/** `floor(x / y)`. Integers stay integers; `x / 0` is 0 for them, and as in `div` for floats. */
export const floorDivide: OperatorFunction<Binary> = binary({
  name: 'floorDivide',
  domain: 'number',
  value: (x, y) => (isFractional(x) ? fractionalQuotient(x, y) : integerQuotient(x, y)),
  gradient: ['zero', 'zero'],
  onnx: ({ onnx, inputs, inputTypes: [{ dtype }] }) => {
    if (!isFloat(dtype)) return null;
    const [x, y] = inputs.map((each) => onnx.cast(each, 'float64'));
    const { rest, isTurned } = remainder(onnx, x, y);
    const ratio = onnx.node('Div', [x, y]);
    const truncated = onnx.node('Round', [onnx.node('Div', [onnx.node('Sub', [x, rest]), y])]);
    const below = onnx.node('Sub', [truncated, onnx.scalar('float64', 1)]);
    const quotient = onnx.node('Where', [isTurned, below, truncated]);
    const isByZero = onnx.node('Equal', [y, onnx.scalar('float64', 0)], {}, 'bool');
    return onnx.cast(onnx.node('Where', [isByZero, ratio, quotient]), dtype);
  },
  samples,
});

/** `x - floor(x / y) * y`, which has the sign of `y`. Integer `mod(x, 0)` is 0, for floats NaN. */
export const mod: OperatorFunction<Binary> = binary({
  name: 'mod',
  domain: 'number',
  value: (x, y) => (isFractional(x) ? fractionalRemainder(x, y) : integerRemainder(x, y)),
  gradient: [(g) => g, (g, x, y) => neg(mul(g, floorDivide(x, y)))],
  onnx: ({ onnx, inputs: [x, y], inputTypes: [{ dtype }] }) => {
    if (!isFloat(dtype)) return null;
    const { rest, isTurned } = remainder(onnx, x, y);
    return onnx.node('Where', [isTurned, onnx.node('Add', [rest, y]), rest]);
  },
  samples,
});

/** The remainder with the sign of `x`, as C's fmod. Integer `fmod(x, 0)` is 0, for floats NaN. */
export const fmod: OperatorFunction<Binary> = binary({
  name: 'fmod',
  domain: 'number',
  value: (x, y) => (isFractional(x) ? truncatedRemainder(x, y) : e.rem(x, safeDivisor(y))),
  gradient: [(g) => g, (g, x, y) => neg(mul(g, trunc(div(x, y))))],
  onnx: ({ onnx, inputs, inputTypes: [{ dtype }] }) =>
    isFloat(dtype) ? onnx.node('Mod', inputs, { fmod: 1 }) : null,
  samples,
});

/** The remainder of floats that has the sign of `x`, and whether that of `y` is wanted and another. */
function remainder(
  onnx: OnnxWriter,
  x: OnnxValue,
  y: OnnxValue,
): { readonly rest: OnnxValue; readonly isTurned: OnnxValue } {
  const rest = onnx.node('Mod', [x, y], { fmod: 1 });
  const zero = onnx.scalar(x.dtype, 0);
  const isBelow = (value: OnnxValue): OnnxValue => onnx.node('Less', [value, zero], {}, 'bool');
  const isWhole = onnx.node('Equal', [rest, zero], {}, 'bool');
  const differ = onnx.node('Xor', [isBelow(rest), isBelow(y)]);
  return { rest, isTurned: onnx.node('And', [onnx.node('Not', [isWhole]), differ]) };
}

/** A divisor that cannot trap; -1 is among the replaced since the least integer overflows. */
function safeDivisor(y: Expr): Expr {
  return e.select(e.or(e.eq(y, 0), e.eq(y, -1)), 1, y);
}

/** Whether a truncated remainder points away from the divisor, so that flooring moves one further. */
function needsFloor(remainder: Expr, y: Expr): Expr {
  return e.and(e.ne(remainder, 0), e.ne(e.lt(remainder, 0), e.lt(y, 0)));
}

function integerQuotient(x: Expr, y: Expr): Expr {
  const divisor = safeDivisor(y);
  const quotient = e.sub(
    e.div(x, divisor),
    e.select(needsFloor(e.rem(x, divisor), divisor), e.constant(x.type.scalar, 1), 0),
  );
  return e.select(e.eq(y, 0), 0, e.select(e.eq(y, -1), e.neg(x), quotient));
}

function integerRemainder(x: Expr, y: Expr): Expr {
  const remainder = e.rem(x, safeDivisor(y));
  return e.add(remainder, e.select(needsFloor(remainder, y), y, 0));
}

/** f32 is divided in f64, where products of quotients and divisors are exact. */
const inDouble =
  (f: (x: Expr, y: Expr, reduce: Reduce) => Expr) =>
  (x: Expr, y: Expr): Expr => {
    const { scalar } = x.type;
    const reduce = scalar === 'f32' ? reduceNarrow : reduceWide;
    return e.cast(scalar, f(e.cast('f64', x), e.cast('f64', y), reduce));
  };

/**
 * NumPy's `floor_divide`: from the exact remainder, so that 1 // 0.1 is 9, where the rounded quotient 10
 * would floor to 10. A zero divisor divides as `div` does.
 */
const fractionalQuotient = inDouble((x, y, reduce) => {
  const rest = exactRemainder(x, y, reduce);
  const truncated = e.nearest(e.div(e.sub(e.abs(x), rest), e.abs(y)));
  const ratio = e.div(x, y);
  const floored = e.neg(e.add(truncated, e.select(e.ne(rest, 0), e.constant('f64', 1), 0)));
  const quotient = e.select(signsDiffer(x, y), floored, truncated);
  const signed = e.select(e.eq(quotient, 0), formatOf(x).withSignOf(quotient, ratio), quotient);
  return e.select(e.eq(y, 0), ratio, signed);
});

const fractionalRemainder = inDouble((x, y, reduce) => {
  const rest = exactRemainder(x, y, reduce);
  const turned = e.and(signsDiffer(x, y), e.ne(rest, 0));
  return formatOf(x).withSignOf(e.select(turned, e.sub(e.abs(y), rest), rest), y);
});

const truncatedRemainder = inDouble((x, y, reduce) =>
  formatOf(x).withSignOf(exactRemainder(x, y, reduce), x),
);

const signsDiffer = (x: Expr, y: Expr): Expr => e.ne(e.lt(x, 0), e.lt(y, 0));

/** Takes the whole part of a rounded quotient away from the rest, exactly. */
type Reduce = (rest: Expr, step: Expr) => Expr;

/**
 * |x| mod |y| in f64, NaN where `x` is infinite or `y` is 0. It is exact while |x / y| < 2^80; beyond,
 * where neighbouring values of `x` lie more than 2^27 divisors apart, it is 0.
 *
 * What a step leaves is representable, so no step loses anything, and it is smaller by the bits of the
 * quotient: 29 for f32, and 53 for f64, whose product is kept as a sum of two numbers.
 */
function exactRemainder(x: Expr, y: Expr, reduce: Reduce): Expr {
  const [dividend, divisor] = [e.abs(x), e.abs(y)];
  // Splitting the divisor must not overflow. Where this makes the dividend vanish it is the remainder.
  const large = e.gt(divisor, 2 ** 1000);
  const step = e.mul(divisor, e.select(large, e.constant('f64', 2 ** -8), 1));
  let rest = e.mul(dividend, e.select(large, e.constant('f64', 2 ** -8), 1));
  for (let round = 0; round < 3; round++) rest = reduce(rest, step);
  rest = e.select(e.lt(rest, 0), e.add(rest, step), rest);
  rest = e.select(e.lt(rest, step), rest, 0);
  rest = e.mul(rest, e.select(large, e.constant('f64', 2 ** 8), 1));
  rest = e.select(e.lt(dividend, divisor), dividend, rest);
  const defined = e.and(e.lt(dividend, Infinity), e.gt(divisor, 0)); // and neither NaN
  return e.select(defined, rest, NaN);
}

/** Quotients of 29 bits times divisors of 24 fit into 53. */
function reduceNarrow(rest: Expr, step: Expr): Expr {
  const quotient = e.and(e.bitcast('i64', e.div(rest, step)), -1n << 24n);
  return e.sub(rest, e.mul(e.trunc(e.bitcast('f64', quotient)), step));
}

function reduceWide(rest: Expr, step: Expr): Expr {
  const quotient = e.trunc(e.div(rest, step));
  const [product, error] = exactProduct(quotient, step);
  return e.sub(e.sub(rest, product), error);
}
