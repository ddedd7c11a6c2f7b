import type { Attributes } from '../../base/attributes/schema.js';
import { boundsOf, floorDivDim, modDim } from '../../base/dim/index.js';
import { isFloat } from '../../base/dtype.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type OperatorFunction, type Sample, tensor } from '../declare/declare.js';
import type { PointContext } from '../declare/lowering.js';
import type { OnnxValue, OnnxWriter } from '../declare/onnx.js';
import type { Binary } from '../signatures.js';
import { div, mul, neg } from './arithmetic.js';
import { isInIntegers } from './expressions/float-bits.js';
import {
  flooredQuotientInIntegers,
  flooredRemainderInIntegers,
  truncatedRemainderInIntegers,
} from './expressions/integer-division.js';
import { exactProduct, formatOf } from './format.js';
import { binaryOperator } from './point.js';
import { trunc } from './rounding.js';

/**
 * Floor division and modulo as in Python: the quotient is floored, the remainder has the divisor's sign.
 * Integers never trap: a divisor of 0 gives 0 for both, and the least integer divided by -1 wraps to itself.
 */

const samples: readonly Sample[] = [
  { args: [tensor(['n', 3], { low: 1.1, high: 1.9 }), tensor([3], { low: 0.96, high: 1.04 })] },
  { args: [tensor(['n'], { dtype: 'int32', low: -9, high: 9 }), tensor(['n'], { dtype: 'int32', low: -3, high: 3 })] },
  { args: [tensor(['n'], { dtype: 'uint8', low: 0, high: 255 }), 7] },
  { args: [tensor(['n'], { dtype: 'int64', low: -9, high: 9 }), -4] },
]; // prettier-ignore

type Division = (x: Expr, y: Expr) => Expr;

/** The division for the type of the operands: integers, floats, or f32 where f64 is emulated. */
function ofKind(integers: Division, floats: Division, inIntegers: Division) {
  return (x: Expr, y: Expr, context: PointContext<Attributes>): Expr => {
    const { scalar } = x.type;
    if (scalar !== 'f32' && scalar !== 'f64') return integers(x, y);
    return (isInIntegers(x, context) ? inIntegers : floats)(x, y);
  };
}

/** `floor(x / y)`. Integers stay integers; `x / 0` is 0 for them, and as in `div` for floats. */
export const floorDivide: OperatorFunction<Binary> = binaryOperator({
  name: 'floorDivide',
  domain: 'number',
  value: ofKind(integerQuotient, fractionalQuotient, flooredQuotientInIntegers),
  onSizes: ([x, y]) => (boundsOf(y).min >= 1 ? floorDivDim(x, y) : null),
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
export const mod: OperatorFunction<Binary> = binaryOperator({
  name: 'mod',
  domain: 'number',
  value: ofKind(integerRemainder, fractionalRemainder, flooredRemainderInIntegers),
  onSizes: ([x, y]) => (boundsOf(y).min >= 1 ? modDim(x, y) : null),
  gradient: [(g) => g, (g, x, y) => neg(mul(g, floorDivide(x, y)))],
  onnx: ({ onnx, inputs: [x, y], inputTypes: [{ dtype }] }) => {
    if (!isFloat(dtype)) return null;
    const { rest, isTurned } = remainder(onnx, x, y);
    return onnx.node('Where', [isTurned, onnx.node('Add', [rest, y]), rest]);
  },
  samples,
});

/** The remainder with the sign of `x`, as C's fmod. Integer `fmod(x, 0)` is 0, for floats NaN. */
export const fmod: OperatorFunction<Binary> = binaryOperator({
  name: 'fmod',
  domain: 'number',
  value: ofKind(cutRemainder, truncatedRemainder, truncatedRemainderInIntegers),
  gradient: [(g) => g, (g, x, y) => neg(mul(g, trunc(div(x, y))))],
  onnx: ({ onnx, inputs, inputTypes: [{ dtype }] }) =>
    isFloat(dtype) ? onnx.node('Mod', inputs, { fmod: 1 }) : null,
  samples,
});

/**
 * The remainder of floats with the sign of `x`, and the condition that the sign of `y` is wanted and differs.
 */
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

/** A divisor that cannot trap; -1 is replaced too, since dividing the least integer by it overflows. */
function safeDivisor(y: Expr): Expr {
  return e.select(e.or(e.eq(y, 0), e.eq(y, -1)), 1, y);
}

/** True when a truncated remainder has the other sign than the divisor, so that flooring subtracts one more. */
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

function cutRemainder(x: Expr, y: Expr): Expr {
  return e.rem(x, safeDivisor(y));
}

function integerRemainder(x: Expr, y: Expr): Expr {
  const remainder = e.rem(x, safeDivisor(y));
  return e.add(remainder, e.select(needsFloor(remainder, y), y, 0));
}

type Quotient = (x: Expr, y: Expr, remainder: ExactRemainder) => Expr;

/** f32 is divided in f64, whose quotients and products have bits to spare. */
function inDouble(x: Expr, y: Expr, f: Quotient): Expr {
  const { scalar } = x.type;
  const remainder = scalar === 'f32' ? narrowRemainder : wideRemainder;
  return e.cast(scalar, f(e.cast('f64', x), e.cast('f64', y), remainder));
}

/**
 * NumPy's `floor_divide`: from the exact remainder, so that 1 // 0.1 is 9, where the rounded quotient 10
 * would floor to 10. A zero divisor divides as `div` does.
 */
function fractionalQuotient(narrowX: Expr, narrowY: Expr): Expr {
  return inDouble(narrowX, narrowY, (x, y, remainder) => {
    const rest = atEnds(x, y, remainder);
    const truncated = wholeQuotient(e.abs(x), e.abs(y), rest);
    const ratio = e.div(x, y);
    const floored = e.neg(e.add(truncated, e.select(e.ne(rest, 0), e.constant('f64', 1), 0)));
    const quotient = e.select(signsDiffer(x, y), floored, truncated);
    const signed = e.select(e.eq(quotient, 0), formatOf(x).withSignOf(quotient, ratio), quotient);
    return e.select(e.eq(y, 0), ratio, signed);
  });
}

/**
 * (x - rest) / y, a whole number: the error of rounding x - rest to a quotient of 52 bits is subtracted. The
 * exact product splits its factors, which overflows for large ones.
 */
function wholeQuotient(x: Expr, y: Expr, rest: Expr): Expr {
  const quotient = e.nearest(e.div(e.sub(x, rest), y));
  const scale = e.select(e.gt(y, 2 ** 900), e.constant('f64', 2 ** -64), 1);
  const divisor = e.mul(y, scale);
  const [product, error] = exactProduct(quotient, divisor);
  const missing = e.sub(e.sub(e.sub(e.mul(x, scale), product), error), e.mul(rest, scale));
  const half = e.mul(divisor, 0.5);
  const below = e.select(e.lt(missing, e.neg(half)), e.constant('f64', -1), 0);
  return e.add(quotient, e.select(e.gt(missing, half), 1, below));
}

function fractionalRemainder(narrowX: Expr, narrowY: Expr): Expr {
  return inDouble(narrowX, narrowY, (x, y, remainder) => {
    const rest = atEnds(x, y, remainder);
    const hasOtherSign = e.and(signsDiffer(x, y), e.ne(rest, 0));
    return formatOf(x).withSignOf(e.select(hasOtherSign, e.sub(e.abs(y), rest), rest), y);
  });
}

function truncatedRemainder(narrowX: Expr, narrowY: Expr): Expr {
  return inDouble(narrowX, narrowY, (x, y, remainder) =>
    formatOf(x).withSignOf(atEnds(x, y, remainder), x),
  );
}

const signsDiffer = (x: Expr, y: Expr): Expr => e.ne(e.lt(x, 0), e.lt(y, 0));

/** The exact remainder of positive finite f64 numbers, of which the dividend is the greater. */
type ExactRemainder = (dividend: Expr, divisor: Expr) => Expr;

/** |x| mod |y| in f64, exact for all quotients; NaN where `x` is infinite or `y` is 0. */
function atEnds(x: Expr, y: Expr, remainder: ExactRemainder): Expr {
  const [dividend, divisor] = [e.abs(x), e.abs(y)];
  const rest = e.select(e.lt(dividend, divisor), dividend, remainder(dividend, divisor));
  const defined = e.and(e.lt(dividend, Infinity), e.gt(divisor, 0)); // and neither NaN
  return e.select(defined, rest, NaN);
}

/**
 * Remainder for f32, whose quotients are below 2^277. Each round subtracts the leading 29 bits of the
 * quotient times the divisor; with a divisor of 24 bits the products fit into 53, so the rest is exact, and
 * 2^27 times smaller.
 */
function narrowRemainder(dividend: Expr, divisor: Expr): Expr {
  const inverse = e.div(1, divisor);
  let rest = dividend;
  for (let round = 0; round < 11; round++) {
    const quotient = e.and(e.bitcast('i64', e.mul(rest, inverse)), -1n << 24n);
    rest = e.sub(rest, e.mul(e.trunc(e.bitcast('f64', quotient)), divisor));
  }
  // A quotient may have been rounded up.
  rest = e.select(e.lt(rest, 0), e.add(rest, divisor), rest);
  return e.select(e.ge(rest, divisor), e.sub(rest, divisor), rest);
}

/**
 * Remainder for f64. With dividend = m 2^k and divisor = n, where m and n are whole numbers of 53 bits, m and
 * 2^k are multiplied modulo n, and 2^k is computed by repeated squaring from a power below n.
 */
function wideRemainder(dividend: Expr, divisor: Expr): Expr {
  const [m, high] = significand(dividend);
  const [n, low] = significand(divisor);
  const inverse = e.div(1, n);
  const k = e.max(e.sub(high, low), 0);
  const start = e.floor(e.mul(k, 2 ** -squarings));
  let power = formatOf(n).powerOfTwo(start);
  let left = e.sub(k, e.mul(start, 2 ** squarings));
  for (let bit = squarings - 1; bit >= 0; bit--) {
    power = productModulo(power, power, n, inverse);
    const isSet = e.ge(left, 2 ** bit);
    power = reduced(e.mul(power, e.select(isSet, e.constant('f64', 2), 1)), n);
    left = e.sub(left, e.select(isSet, e.constant('f64', 2 ** bit), 0));
  }
  const rest = productModulo(reduced(reduced(m, n), n), power, n, inverse);
  const positive = e.select(e.lt(rest, 0), e.add(rest, n), rest);
  return formatOf(n).scale(positive, low);
}

/** With this many squarings, quotients of up to 2^2098 start at no more than 2^32. */
const squarings = 6;

/** A positive number as m 2^exponent, with a whole m of 53 bits. */
function significand(x: Expr): readonly [m: Expr, exponent: Expr] {
  const format = formatOf(x);
  const denormal = e.lt(x, format.tiny);
  const lift = format.fraction + 2;
  const normal = e.select(denormal, e.mul(x, 2 ** lift), x);
  const field = format.fromWhole(e.shrU(format.bitsOf(normal), format.fraction));
  const mask = format.integer((1n << BigInt(format.fraction)) - 1n);
  const one = format.integer(BigInt(format.bias + format.fraction) << BigInt(format.fraction));
  const m = format.fromBits(e.or(e.and(format.bitsOf(normal), mask), one));
  const offset = format.bias + format.fraction;
  const exponent = e.sub(field, e.select(denormal, e.constant('f64', offset + lift), offset));
  return [m, exponent];
}

/**
 * a b mod n, about between -n/2 and n/2, as `a` and `b` are. If the quotient is off by one, the remainder has
 * a bit too many, so it is corrected before its parts are added; then all of them are exact.
 */
function productModulo(a: Expr, b: Expr, n: Expr, inverse: Expr): Expr {
  const [product, error] = exactProduct(a, b);
  const quotient = e.nearest(e.mul(product, inverse));
  const [taken, takenError] = exactProduct(quotient, n);
  const [large, small] = [e.sub(product, taken), e.sub(error, takenError)];
  return e.add(e.add(large, correction(e.add(large, small), n)), small);
}

/** Reduces a whole number between -3/2 n and 3/2 n to between -n/2 and n/2. */
function reduced(x: Expr, n: Expr): Expr {
  return e.add(x, correction(x, n));
}

/** -n, 0 or n: the multiple that brings a number closer to 0. */
function correction(x: Expr, n: Expr): Expr {
  const half = e.mul(n, 0.5);
  return e.select(e.gt(x, half), e.neg(n), e.select(e.lt(x, e.neg(half)), n, 0));
}
