import * as attr from '../../base/attributes/attribute.js';
import { isFloat, promoteAll } from '../../base/dtype.js';
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
import { example, floatDTypes, numericDTypes } from '../declare/law.js';
import { elementwise } from '../declare/lowering.js';
import { sumTo } from '../reduction/sum.js';
import { filledLike } from '../uniform.js';
import { mul, reciprocal, square, sub } from './arithmetic.js';
import { equal, greaterEqual } from './comparison.js';
import { binaryExponential, binaryExponentialOfSum } from './expressions/exponential.js';
import { isInIntegers } from './expressions/float-bits.js';
import { powerInIntegers } from './expressions/integer-power.js';
import { exactProduct, exactSum, formatOf, polynomial } from './format.js';
import { log } from './logarithm.js';
import { binaryLogarithm, logarithmTail, splitLogarithm } from './expressions/logarithm.js';
import { logicalAnd } from './logic.js';
import { where } from './selection.js';

/** `pow(x, y)`; shapes broadcast. */
export type Pow = <T extends Tensor = DefaultTensor>(x: Input<T>, y: Input<T>) => T;

/**
 * `x ** y`. For floats IEEE 754's pow: `x ** 0` and `1 ** y` are 1 even for NaN, a negative `x` needs a whole
 * `y`, else NaN. Integers stay integers and wrap; a negative integer exponent gives 0, except for a base of 1
 * or -1. A plain number as exponent becomes an attribute, and small whole exponents become products.
 */
export const pow: OperatorFunction<Pow> = operator({
  name: 'pow',
  family: 'elementwise',
  // The exponent, when it is not an operand.
  attributes: { exponent: attr.optional(attr.number) },
  operands: (kinds, { exponent }) => {
    const weak = Number.isInteger(exponent) ? 'weak-int' : 'weak-float';
    const common = promoteAll(exponent === null ? kinds : [...kinds, weak]);
    return kinds.map(() => common);
  },
  call: (x, y) =>
    typeof y === 'number'
      ? { inputs: [x], attributes: { exponent: y } }
      : { inputs: [x, y], attributes: { exponent: null } },
  infer: inferElementwise('pow'),
  gradient: ({ inputs, outputs, grads: [g], attributes: { exponent }, needs }) => {
    const [x, y] = inputs;
    if (exponent !== null) {
      // Reducing the exponent step by step ends at 0 for whole ones, also at x = 0.
      return [exponent === 0 ? null : mul(mul(g!, pow(x, exponent - 1)), exponent)];
    }
    const base = (): typeof x => mul(g!, where(equal(y, 0), 0, mul(y, pow(x, sub(y, 1)))));
    // 0 ** y is flat in y for y >= 0, where the logarithm would say 0 * -Infinity.
    const flat = (): typeof x => logicalAnd(equal(x, 0), greaterEqual(y, 0));
    return [
      needs[0] ? sumTo(base(), x.type.shape) : null,
      needs[1] ? sumTo(mul(g!, where(flat(), 0, mul(outputs[0], log(x)))), y.type.shape) : null,
    ];
  },
  lowering: elementwise<{ readonly exponent: number | null }>(([x, y], context) => {
    const {
      attributes: { exponent },
      outputType: { dtype },
    } = context;
    const powerOf = isInIntegers(x, context) ? powerInIntegers : floatPower;
    if (exponent !== null) return fixedPower(x, exponent, powerOf);
    if (dtype === 'bool') return e.or(x, e.not(y));
    if (!isFloat(dtype)) return integerPower(x, y);
    return powerOf(x, y);
  }),
  onnx: ({ onnx, inputs: [x, y], outputTypes: [{ dtype }], attributes: { exponent } }) => {
    if (!isFloat(dtype)) return null;
    return onnx.node('Pow', [x, exponent === null ? y : onnx.scalar(dtype, exponent)]);
  },
  simplify: [
    {
      name: 'power-zero',
      law: 'x ** 0 = 1, also for NaN',
      cases: [example([tensor(['n', 3])], (x) => pow(x, 0), numericDTypes)],
      apply: ({ inputs: [x], attributes: { exponent }, type }) =>
        exponent === 0 ? filledLike(1, type, x) : null,
    },
    {
      name: 'power-one',
      law: 'x ** 1 = x',
      cases: [example([tensor(['n', 3])], (x) => pow(x, 1), numericDTypes)],
      apply: ({ inputs: [x], attributes: { exponent } }) => (exponent === 1 ? x : null),
    },
    {
      name: 'power-two',
      law: 'x ** 2 = square(x)',
      cases: [example([tensor(['n', 3])], (x) => pow(x, 2), numericDTypes)],
      apply: ({ inputs: [x], attributes: { exponent } }) => (exponent === 2 ? square(x) : null),
    },
    {
      name: 'power-minus-one',
      law: 'x ** -1 = 1 / x of floats',
      cases: [example([tensor(['n', 3])], (x) => pow(x, -1), floatDTypes)],
      apply: ({ inputs: [x], attributes: { exponent }, type }) =>
        exponent === -1 && isFloat(type.dtype) ? reciprocal(x) : null,
    },
  ],
  samples: [
    { args: [tensor(['n', 3], { low: 0.1 }), tensor([3])] },
    { args: [tensor(['n', 2]), 3] },
    { args: [tensor(['n'], { low: 0.1 }), -2] },
    { args: [tensor(['n'], { low: -2, high: -0.1 }), -3] },
    { args: [tensor(['n']), 4] },
    { args: [tensor(['n'], { low: 0.1 }), 0.5] },
    { args: [2, tensor(['n'])] },
    { args: [tensor(['n'], { dtype: 'int32', low: -9, high: 9 }), tensor([], { dtype: 'int32', low: 0, high: 9 })] },
    { args: [tensor(['n'], { dtype: 'int64', low: -9, high: 9 }), 2] },
  ], // prettier-ignore
});

/** Up to this exponent products are as accurate as the general algorithm, and much faster. */
const longestProduct = 4;

type Power = (x: Expr, y: Expr) => Expr;

const floatPower: Power = (x, y) =>
  x.type.scalar === 'f32' ? narrowPower(x, y) : atEdges(x, y, widePower(x, y));

function fixedPower(x: Expr, exponent: number, powerOf: Power): Expr {
  const { scalar } = x.type;
  if (scalar === 'bool') return exponent === 0 ? e.constant(scalar, 1, x.type.lanes) : x;
  if (scalar === 'i32' || scalar === 'i64') {
    return integerPower(x, e.constant(scalar, exponent));
  }
  if (exponent === 0.5) return e.select(e.eq(x, -Infinity), Infinity, e.sqrt(e.add(x, 0)));
  if (Number.isInteger(exponent) && Math.abs(exponent) <= longestProduct) {
    return exponent < -1 ? inversePower(x, -exponent) : exponent < 0 ? e.div(1, x) : productPower(x, exponent); // prettier-ignore
  }
  return powerOf(x, e.constant(scalar, exponent));
}

function productPower(x: Expr, exponent: number): Expr {
  if (exponent === 0) return e.constant(x.type.scalar, 1, x.type.lanes);
  if (exponent === 1) return x;
  const half = productPower(x, exponent >> 1);
  const whole = e.mul(half, half);
  return exponent % 2 === 0 ? whole : e.mul(whole, x);
}

/** x^-exponent of a scaled x, whose powers neither overflow nor lose bits unless their inverses do. */
function inversePower(x: Expr, exponent: number): Expr {
  const { scalar, bias } = formatOf(x);
  const step = bias >> 2;
  const large = e.gt(e.abs(x), 2 ** step);
  const small = e.lt(e.abs(x), 2 ** -step);
  const chosen = (scale: number): Expr =>
    e.select(large, e.constant(scalar, 2 ** -scale), e.select(small, e.constant(scalar, 2 ** scale), 1)); // prettier-ignore
  const power = productPower(e.mul(x, chosen(step)), exponent);
  return e.mul(e.div(1, power), chosen(step * exponent));
}

/** Square and multiply over every bit of the exponent, or over those of a known one. */
function integerPower(x: Expr, y: Expr): Expr {
  const one = e.constant(x.type.scalar, 1, x.type.lanes);
  const known = y.kind === 'const' ? BigInt(y.value) : null;
  const width = x.type.scalar === 'i64' ? 63 : 31;
  const bits = known === null ? width : known > 0n ? known.toString(2).length : 0;
  let power: Expr = one;
  let factor = x;
  for (let bit = 0; bit < bits; bit++) {
    power = e.select(e.ne(e.and(e.shrU(y, bit), 1), 0), e.mul(power, factor), power);
    factor = e.mul(factor, factor);
  }
  const unit = e.or(e.eq(x, 1), e.eq(x, -1));
  const odd = e.ne(e.and(y, 1), 0);
  return e.select(e.lt(y, 0), e.select(unit, e.select(odd, x, one), 0), power);
}

/** f32 by way of f64, whose logarithm has enough digits for one rounding. */
function narrowPower(x: Expr, y: Expr): Expr {
  const [base, exponent] = [e.cast('f64', x), e.cast('f64', y)];
  const power = binaryExponential(e.mul(bounded(exponent), binaryLogarithm(e.abs(base))));
  return e.cast('f32', atEdges(base, exponent, power));
}

/** Exponents beyond the bound overflow or underflow with every base but 1. */
const bounded = (y: Expr): Expr => e.min(e.max(y, -(2 ** 100)), 2 ** 100);

type Sum = readonly [high: Expr, low: Expr];

const product = (a: Sum, b: Sum): Sum => {
  const [high, low] = exactProduct(a[0], b[0]);
  return exactSum(high, e.add(low, e.add(e.mul(a[0], b[1]), e.mul(a[1], b[0]))));
};
const scaled = (a: Sum, [high, low]: readonly [number, number]): Sum =>
  product(a, [e.constant('f64', high), e.constant('f64', low)]);

/**
 * |x|^y in f64 as 2^(y log2 |x|), the logarithm as a sum of two numbers (in the manner of fdlibm's
 * e_pow.c, without its table): log(1 + f) = 2 s + s^3 (2/3 + s^2 Q(s^2)), of which only s^2 Q is rounded.
 */
function widePower(x: Expr, y: Expr): Expr {
  const { k, f } = splitLogarithm(e.abs(x));
  const divisor = exactSum(e.constant('f64', 2), f);
  const quotient = e.div(f, divisor[0]);
  const [back, backError] = exactProduct(quotient, divisor[0]);
  const missing = e.sub(e.sub(e.sub(f, back), backError), e.mul(quotient, divisor[1]));
  const s = exactSum(quotient, e.div(missing, divisor[0]));
  const z = product(s, s);
  const tail = logarithmTail.f64.slice(1);
  const small = e.mul(z[0], polynomial(z[0], { f32: [], f64: tail }));
  const [third, thirdError] = exactSum(e.constant('f64', 2 / 3), small);
  const cubic = product(product(s, z), [third, e.add(thirdError, 3.700743415417188e-17)]);
  const twice: Sum = [e.mul(s[0], 2), e.mul(s[1], 2)];
  const sum = exactSum(twice[0], cubic[0]);
  const natural: Sum = exactSum(sum[0], e.add(sum[1], e.add(twice[1], cubic[1])));
  const fraction = scaled(natural, [Math.LOG2E, 2.0355273740931033e-17]);
  const whole = exactSum(k, fraction[0]);
  const logarithm: Sum = exactSum(whole[0], e.add(whole[1], fraction[1]));
  const [power, error] = product(logarithm, [bounded(y), e.constant('f64', 0)]);
  return binaryExponentialOfSum(power, error);
}

/**
 * Handles signs, zeros, infinities and NaN; `magnitude` is right where |x| is neither 0 nor infinite nor NaN.
 */
function atEdges(x: Expr, y: Expr, magnitude: Expr): Expr {
  const whole = e.eq(e.floor(y), y);
  const half = e.mul(y, 0.5);
  const odd = e.and(whole, e.and(e.ne(e.floor(half), half), e.lt(e.abs(y), Infinity)));
  const base = e.abs(x);
  const zero = e.eq(base, 0);
  const extreme = e.or(zero, e.eq(base, Infinity));
  const atExtreme = e.select(e.eq(e.lt(y, 0), zero), e.constant('f64', Infinity), 0);
  let value = e.select(extreme, atExtreme, magnitude);
  value = e.select(odd, formatOf(x).withSignOf(value, x), value);
  const finite = e.gt(x, -Infinity);
  value = e.select(e.and(e.and(e.lt(x, 0), finite), e.not(whole)), NaN, value);
  value = e.select(e.or(e.ne(x, x), e.ne(y, y)), NaN, value);
  return e.select(e.or(e.eq(y, 0), e.eq(x, 1)), 1, value);
}
