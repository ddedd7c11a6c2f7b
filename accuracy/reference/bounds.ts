import type { Form } from './forms.js';
import type { FloatFormat } from './formats.js';

/** The greatest error that an operator may have, in ulp: of float32, then of float64. */
export type Bound = readonly [float32: number, float64: number];

/** A result that is an operand, or is known exactly. */
const exact: Bound = [0, 0];

/** The float nearest to the result. */
const rounded: Bound = [0.5, 0.5];

/** Of float32, computed in float64 and rounded once. */
const once = 0.51;

/**
 * What operators promise for all operands: normal and denormal results, infinities, NaN and the signs of zeros. By
 * name, or by name and attributes where these differ. Where a reference names a scale, an error counts in ulp of
 * that where it is the greater one.
 */
export const bounds: Readonly<Record<string, Bound>> = {
  abs: exact, ceil: exact, clip: exact, copysign: exact, floor: exact, fmax: exact, fmin: exact, fmod: exact,
  heaviside: exact, maximum: exact, minimum: exact, nanToNum: exact, neg: exact, positive: exact, relu: exact,
  relu6: exact, round: exact, sign: exact, trunc: exact, where: exact,
  add: rounded, div: rounded, mod: rounded, mul: rounded, reciprocal: rounded, sqrt: rounded, square: rounded,
  sub: rounded, 'pow(exponent: 0.5)': rounded,
  acos: [2, 2], acosh: [3, 3], asin: [2, 2], asinh: [3, 3], atan: [2, 2], atan2: [2, 2], atanh: [3, 3],
  cbrt: [once, 1], cos: [once, 1], cosh: [3, 3], deg2rad: [1, 1], digamma: [once, 3], elu: [1.5, 1.5], erf: [3, 3],
  erfc: [3, 3], exp: [1, 1], exp2: [1, 1], expm1: [1.5, 1], floorDivide: [once, 1], gelu: [3, 3], hardSigmoid: [2, 2],
  hardSwish: [2.5, 2.5], hypot: [2, 2], leakyRelu: [1, 1], lgamma: [once, 3], log: [1, 1], log10: [1, 1], log1p: [1, 1],
  log2: [1, 1], logSigmoid: [2, 2], logaddexp: [3, 3], mish: [3, 3], 'polygamma(order: 1)': [once, 4], 'polygamma(order: 2)': [once, 8], 'polygamma(order: 5)': [once, 20], pow: [once, 1],
  'pow(exponent: -2)': [2, 2], 'pow(exponent: -3)': [3, 3], 'pow(exponent: 3)': [2, 2], 'pow(exponent: 4)': [2, 2],
  rad2deg: [1, 1], rsqrt: [2, 2], selu: [2, 2], sigmoid: [2.5, 2.5], silu: [2.5, 2.5], sin: [once, 1], sinc: [once, 2],
  sinh: [3, 3], softplus: [2, 2], softsign: [2, 2], tan: [once, 2], tanh: [3, 3],
}; // prettier-ignore

/** What a form may be off by in a format. Results of 16 bits are rounded from those of float32. */
export function boundOf(form: Form, { dtype, fraction }: FloatFormat): number {
  const bound = bounds[form.label] ?? bounds[form.declaration.name];
  if (bound === undefined)
    throw new Error(`${form.label} has no bound in accuracy/reference/bounds.ts`);
  const [float32, float64] = bound;
  if (dtype === 'float64') return float64;
  if (dtype === 'float32' || float32 === 0) return float32;
  return 0.5 + float32 * 2 ** (fraction - 23);
}
