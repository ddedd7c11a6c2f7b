import type { Attributes } from '../../src/base/attributes/schema.js';
import * as f from './elementary.js';
import type { FloatFormat } from './formats.js';
import * as r from './real.js';
import { fromNumber, type Real } from './real.js';
import * as s from './special.js';

/*
 * What elementwise operators give, of floats, without any rounding. A number as result is exactly that: an infinity,
 * NaN, a zero with its sign, or an operand that is chosen.
 */

export type Result = Real | number;

export interface Reference {
  readonly value: (
    operands: readonly number[],
    attributes: Attributes,
    format: FloatFormat,
  ) => Result;
  /**
   * A magnitude besides that of the result in whose ulp the error is measured where it is the greater one: of what
   * cancels, or of what the result is made of. None where absent.
   */
  readonly scale?: (operands: readonly number[], attributes: Attributes) => Real;
}

type Unary = (x: Real) => Result;
type Exact = (...operands: number[]) => Result;

const { one, zero, add, sub, mul, div, neg, scale } = r;
const two = fromNumber(2);

/** The results at infinities, zeros or wherever the formula does not hold. */
type Limits = ReadonlyMap<number, Result>;
const limits = (...entries: readonly (readonly [number, Result])[]): Limits => new Map(entries);

/** A function of finite numbers other than zero, and its limits; zeros are their own value, NaN where none is given. */
function unary(formula: Unary, at: Limits, atZero?: Result): Reference {
  return {
    value: ([x], _attributes, _format) => {
      if (x === 0) return atZero ?? x;
      return at.get(x) ?? (Number.isFinite(x) ? formula(fromNumber(x)) : NaN);
    },
  };
}

/** A result that is rounded at most once, or not at all. */
const exact = (value: Exact): Reference => ({ value: (operands) => value(...operands) });

const ends = (low: Result, high: Result): Limits => limits([-Infinity, low], [Infinity, high]);
const identityAtEnds = ends(-Infinity, Infinity);

const isNegativeZero = (x: number): boolean => Object.is(x, -0);

/** NaN where the formula is not defined. */
const where = (isDefined: (x: Real) => boolean, formula: Unary): Unary => (x) =>
  isDefined(x) ? formula(x) : NaN; // prettier-ignore
const isPositive = (x: Real): boolean => !r.isNegative(x);
const isInUnit = (x: Real): boolean => r.compare(r.abs(x), one) <= 0;

/** x f(x) and its kin keep the sign of zero; a product with 0 has that of its factor. */
const nonZero = (x: Real, otherwise: number): Result => (r.isZero(x) ? otherwise : x);

const sigmoid = (x: Real): Real => {
  const decay = f.exp(neg(r.abs(x)));
  return div(r.isNegative(x) ? decay : one, add(one, decay));
};
const softplus = (x: Real): Real => add(r.isNegative(x) ? zero : x, f.log1p(f.exp(neg(r.abs(x)))));
const relative = (value: number, fixed: Real): Real => mul(fromNumber(value), fixed);

/** IEEE 754's binary operations of numbers of at most 53 bits: finite operands give exact sums and products. */
function arithmetic(
  plain: (x: number, y: number) => number,
  formula: (x: Real, y: Real) => Real,
): Reference {
  return exact((x, y) => {
    const usual = plain(x, y);
    const isFinite = Number.isFinite(x) && Number.isFinite(y);
    if (!isFinite || Number.isNaN(usual) || (Math.abs(usual) === Infinity && y === 0)) return usual;
    return nonZero(formula(fromNumber(x), fromNumber(y)), usual);
  });
}

const hardSigmoid: Unary = (x) => {
  if (r.compare(x, fromNumber(-3)) <= 0) return 0;
  return r.compare(x, fromNumber(3)) >= 0 ? 1 : div(add(x, fromNumber(3)), fromNumber(6));
};

function elu(x: number, alpha: Real, slope: Real): Result {
  if (Number.isNaN(x) || x === 0 || x === Infinity) return x;
  if (x > 0) return mul(fromNumber(x), slope);
  return mul(alpha, x === -Infinity ? neg(one) : f.expm1(fromNumber(x)));
}

/** Klambauer et al. 2017, to the digits of a float64. */
const [seluAlpha, seluScale] = [1.6732632423543772, 1.0507009873554805].map(fromNumber);

function gelu(x: number, isExact: boolean): Result {
  if (Number.isNaN(x) || x === 0 || x === Infinity) return x;
  if (x === -Infinity) return -0;
  const t = fromNumber(x);
  if (isExact) return scale(mul(t, s.erfc(neg(mul(t, r.sqrt(scale(one, -1)))))), -1);
  const inner = add(t, div(mul(mul(t, mul(t, t)), fromNumber(44715)), fromNumber(1e6)));
  return mul(t, sigmoid(mul(inner, scale(r.sqrt(div(two, f.pi)), 1))));
}

function pow(x: number, y: number): Result {
  if (y === 0 || x === 1 || (x === -1 && Math.abs(y) === Infinity)) return 1;
  const usual = x ** y;
  const isSpecial = x === 0 || !Number.isFinite(x) || !Number.isFinite(y) || Number.isNaN(usual);
  if (isSpecial) return usual;
  const isOdd = Math.abs(y) < 2 ** 53 && Math.abs(y % 2) === 1;
  const magnitude = f.pow(fromNumber(x), fromNumber(y));
  return x < 0 && isOdd ? neg(magnitude) : magnitude;
}

/** Python's remainder, whose sign is the divisor's, from JavaScript's exact one. */
function mod(x: number, y: number): Result {
  const rest = x % y;
  if (rest === 0) return y < 0 || isNegativeZero(y) ? -0 : 0;
  if (Number.isNaN(rest) || rest < 0 === y < 0) return rest;
  return Number.isFinite(y) ? add(fromNumber(rest), fromNumber(y)) : y;
}

/** NumPy's floor_divide. */
function floorDivide(x: number, y: number): Result {
  if (y === 0) return x / y;
  if (!Number.isFinite(x) || Number.isNaN(y)) return NaN;
  const isTurned = x < 0 !== y < 0;
  if (!Number.isFinite(y)) return x === 0 ? x / y : isTurned ? -1 : 0;
  const [a, b] = [fromNumber(x), fromNumber(y)];
  const n = a.significand << BigInt(Math.max(a.exponent - b.exponent, 0));
  const d = b.significand << BigInt(Math.max(b.exponent - a.exponent, 0));
  const floored = n / d - (n % d !== 0n && isTurned ? 1n : 0n);
  return floored === 0n ? (x / y < 0 || isNegativeZero(x / y) ? -0 : 0) : r.real(floored);
}

function atan2(y: number, x: number): Result {
  const usual = Math.atan2(y, x);
  if (Number.isNaN(usual) || Object.is(Math.abs(usual), 0)) {
    if (Number.isNaN(usual) || y === 0 || !Number.isFinite(x)) return usual;
  }
  const signed = (angle: Real): Real => (y < 0 || Object.is(y, -0) ? neg(angle) : angle);
  const isLeft = x < 0 || Object.is(x, -0);
  const quarter = (count: number): Real => signed(scale(mul(f.pi, fromNumber(count)), -2));
  if (y === 0) return quarter(4);
  if (x === 0) return quarter(2);
  if (Math.abs(y) === Infinity) return quarter(Math.abs(x) === Infinity ? (isLeft ? 3 : 1) : 2);
  if (Math.abs(x) === Infinity) return quarter(4);
  const acute = f.atan(div(r.abs(fromNumber(y)), r.abs(fromNumber(x))));
  return signed(isLeft ? sub(f.pi, acute) : acute);
}

function logaddexp(x: number, y: number): Result {
  if (Number.isNaN(x) || Number.isNaN(y)) return NaN;
  if (!Number.isFinite(x) || !Number.isFinite(y)) {
    return Math.max(x, y) + 0; // the sum of a zero and 0 is 0
  }
  const [high, low] = [fromNumber(Math.max(x, y)), fromNumber(Math.min(x, y))];
  return nonZero(add(high, f.log1p(f.exp(sub(low, high)))), 0);
}

function hypot(x: number, y: number): Result {
  if (Math.abs(x) === Infinity || Math.abs(y) === Infinity) return Infinity;
  if (Number.isNaN(x) || Number.isNaN(y)) return NaN;
  const [a, b] = [fromNumber(x), fromNumber(y)];
  return nonZero(r.sqrt(add(mul(a, a), mul(b, b))), 0);
}

/** Derivatives of the logarithm of gamma, which have no limit at the negative integers. */
function gammaDerivative(order: number): Reference {
  const formula = (x: Real): Real => (order === 0 ? s.digamma(x) : s.polygamma(order, x));
  return {
    value: ([x]) => {
      if (Number.isNaN(x) || x === -Infinity) return NaN;
      if (x === Infinity) return order === 0 ? Infinity : order % 2 === 1 ? 0 : -0;
      if (x === 0) return order % 2 === 1 ? Infinity : isNegativeZero(x) ? Infinity : -Infinity;
      return x < 0 && Number.isInteger(x) ? NaN : formula(fromNumber(x));
    },
    // The terms of the reflection: that of the mirrored argument, and the derivative of the cotangent.
    ...(order % 2 === 0 && {
      scale: ([x]) => {
        if (!(x < 0) || !Number.isFinite(x) || Number.isInteger(x)) return zero;
        const mirrored = formula(sub(one, fromNumber(x)));
        const [a, b] = [r.abs(mirrored), r.abs(sub(mirrored, formula(fromNumber(x))))];
        return r.compare(a, b) < 0 ? b : a;
      },
    }),
  };
}

export const operatorReferences: Readonly<Record<string, Reference>> = {
  // Chosen or exact
  abs: exact(Math.abs),
  neg: exact((x) => -x),
  positive: exact((x) => x),
  sign: exact((x) => (x === 0 ? 0 : Math.sign(x))),
  floor: exact(Math.floor),
  ceil: exact(Math.ceil),
  trunc: exact(Math.trunc),
  round: exact((x) => {
    const low = Math.floor(x);
    if (!Number.isFinite(x)) return x;
    const isUp = x - low > 0.5 || (x - low === 0.5 && low % 2 !== 0);
    const whole = isUp ? low + 1 : low;
    return whole === 0 && (x < 0 || isNegativeZero(x)) ? -0 : whole;
  }),
  relu: exact((x) => Math.max(x, 0)),
  relu6: exact((x) => Math.min(Math.max(x, 0), 6)),
  maximum: exact(Math.max),
  minimum: exact(Math.min),
  fmax: exact((x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.max(x, y))),
  fmin: exact((x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.min(x, y))),
  where: exact((condition, x, y) => (condition === 0 ? y : x)),
  copysign: exact((x, y) => (y < 0 || isNegativeZero(y) ? -Math.abs(x) : Math.abs(x))),
  heaviside: exact((x, middle) => (x === 0 ? middle : Number.isNaN(x) ? NaN : x > 0 ? 1 : 0)),
  clip: {
    value: ([x, ...bounds], { below, above }) => {
      const raised = below === true ? Math.max(x, bounds[0]) : x;
      return above === true ? Math.min(raised, bounds.at(-1)!) : raised;
    },
  },
  nanToNum: {
    value: ([x], { nan, posinf, neginf }, { fraction, greatest }) => {
      const end = (2 - 2 ** -fraction) * 2 ** greatest;
      const given = (value: unknown, otherwise: number): number =>
        typeof value === 'number' ? value : otherwise;
      if (Number.isNaN(x)) return given(nan, 0);
      if (x === Infinity) return given(posinf, end);
      return x === -Infinity ? given(neginf, -end) : x;
    },
  },

  // Rounded once
  add: arithmetic((x, y) => x + y, (x, y) => add(x, y)),
  sub: arithmetic((x, y) => x - y, (x, y) => sub(x, y)),
  mul: arithmetic((x, y) => x * y, (x, y) => mul(x, y)),
  div: arithmetic((x, y) => x / y, (x, y) => div(x, y)),
  square: unary((x) => mul(x, x), ends(Infinity, Infinity), 0),
  reciprocal: exact((x) => (x === 0 || !Number.isFinite(x) ? 1 / x : div(one, fromNumber(x)))),
  sqrt: unary(where(isPositive, r.sqrt), limits([Infinity, Infinity])),
  mod: exact(mod),
  fmod: exact((x, y) => x % y),
  floorDivide: exact(floorDivide),

  // Products with constants, and what is made of few of them
  deg2rad: unary((x) => mul(x, div(f.pi, fromNumber(180))), identityAtEnds),
  rad2deg: unary((x) => mul(x, div(fromNumber(180), f.pi)), identityAtEnds),
  rsqrt: exact((x) => {
    if (x === 0) return 1 / x === -Infinity ? -Infinity : Infinity;
    if (x === Infinity) return 0;
    return x > 0 ? div(one, r.sqrt(fromNumber(x))) : NaN;
  }),
  cbrt: unary(r.cbrt, identityAtEnds),
  hypot: exact(hypot),
  leakyRelu: {
    value: ([x], { slope }) => {
      return !(x < 0) || x === -Infinity ? x : relative(Number(slope), fromNumber(x));
    },
  },
  softsign: unary((x) => div(x, add(one, r.abs(x))), ends(-1, 1)),
  hardSigmoid: unary(hardSigmoid, ends(0, 1), 0.5),
  hardSwish: unary((x) => {
    const share = hardSigmoid(x);
    return typeof share === 'number' ? (share === 0 ? 0 : x) : mul(x, share);
  }, ends(0, Infinity)),

  // Exponentials and logarithms
  exp: unary(f.exp, ends(0, Infinity), 1),
  exp2: unary((x) => f.exp(mul(x, f.ln2)), ends(0, Infinity), 1),
  expm1: unary(f.expm1, ends(-1, Infinity)),
  log: unary(where(isPositive, f.log), limits([Infinity, Infinity]), -Infinity),
  log1p: unary(
    where((x) => r.compare(x, neg(one)) >= 0, (x) => (r.isZero(add(x, one)) ? -Infinity : f.log1p(x))),
    limits([Infinity, Infinity]),
  ),
  log2: unary(where(isPositive, (x) => div(f.log(x), f.ln2)), limits([Infinity, Infinity]), -Infinity),
  log10: unary(
    where(isPositive, (x) => div(f.log(x), f.log(fromNumber(10)))),
    limits([Infinity, Infinity]),
    -Infinity,
  ),
  pow: { value: ([x, y], { exponent }) => pow(x, typeof exponent === 'number' ? exponent : y) },
  logaddexp: {
    value: ([x, y]) => logaddexp(x, y),
    // Where the logarithms cancel.
    scale: ([x, y]) => {
      const greatest = Math.max(x, y);
      return Number.isFinite(greatest) ? fromNumber(greatest) : zero;
    },
  },

  // Angles and hyperbolic functions
  sin: unary((x) => f.turn(x).sine, limits()),
  cos: unary((x) => f.turn(x).cosine, limits(), 1),
  tan: unary((x) => div(f.turn(x).sine, f.turn(x).cosine), limits()),
  sinc: unary((x) => {
    const { sine } = f.turnOfHalves(x);
    return div(sine, mul(x, f.pi));
  }, limits(), 1), // NumPy and PyTorch divide infinity by infinity
  asin: unary(where(isInUnit, f.asin), limits()),
  acos: unary(where(isInUnit, (x) => nonZero(f.acos(x), 0)), limits(), scale(f.pi, -1)),
  atan: unary(f.atan, ends(neg(scale(f.pi, -1)), scale(f.pi, -1))),
  atan2: exact(atan2),
  sinh: unary(f.sinh, identityAtEnds),
  cosh: unary(f.cosh, ends(Infinity, Infinity), 1),
  tanh: unary(f.tanh, ends(-1, 1)),
  asinh: unary(f.asinh, identityAtEnds),
  acosh: unary(
    where((x) => r.compare(x, one) >= 0, (x) => nonZero(f.acosh(x), 0)),
    limits([Infinity, Infinity]),
    NaN,
  ),
  atanh: unary(
    where(isInUnit, (x) => (r.compare(r.abs(x), one) === 0 ? r.toNumber(x) * Infinity : f.atanh(x))),
    limits(),
  ),

  // Integrals
  erf: unary(s.erf, ends(-1, 1)),
  erfc: unary(s.erfc, ends(2, 0), 1),
  lgamma: {
    value: ([x]) => {
      if (Number.isNaN(x)) return NaN;
      if (Math.abs(x) === Infinity || (x <= 0 && Number.isInteger(x))) return Infinity;
      return x === 1 || x === 2 ? 0 : s.lgamma(fromNumber(x));
    },
    // Where the reflection cancels: logarithms of numbers near 1 have errors of an ulp of 1.
    scale: ([x]) => {
      if (!(x < 0) || !Number.isFinite(x) || Number.isInteger(x)) return zero;
      const mirrored = r.abs(s.lgamma(fromNumber(-x)));
      return r.compare(mirrored, one) < 0 ? one : mirrored;
    },
  },
  digamma: gammaDerivative(0),
  polygamma: {
    value: (operands, attributes, format) =>
      gammaDerivative(Number(attributes['order'])).value(operands, attributes, format),
    scale: (operands, attributes) =>
      gammaDerivative(Number(attributes['order'])).scale?.(operands, attributes) ?? zero,
  },

  // Activations
  sigmoid: unary(sigmoid, ends(0, 1), 0.5),
  logSigmoid: {
    value: ([x]) => {
      if (Number.isNaN(x)) return x;
      return Number.isFinite(x) ? neg(softplus(fromNumber(-x))) : x < 0 ? x : -0;
    },
  },
  softplus: {
    value: ([x]) => {
      if (Number.isNaN(x)) return x;
      return Number.isFinite(x) ? softplus(fromNumber(x)) : x > 0 ? x : 0;
    },
  },
  silu: unary((x) => mul(x, sigmoid(x)), ends(-0, Infinity)),
  mish: unary((x) => mul(x, f.tanh(softplus(x))), ends(-0, Infinity)),
  elu: { value: ([x], { alpha }) => elu(x, fromNumber(Number(alpha)), one) },
  selu: { value: ([x]) => elu(x, mul(seluAlpha, seluScale), seluScale) },
  gelu: { value: ([x], { approximate }) => gelu(x, approximate === 'none') },
}; // prettier-ignore

/** Operators of which floats are no numbers to be measured, and why. */
export const unmeasured: Readonly<Record<string, string>> = {
  cast: 'converts between dtypes',
};
