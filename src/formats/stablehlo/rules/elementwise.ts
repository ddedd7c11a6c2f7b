import { isFloat } from '../../../base/dtype.js';
import {
  atan2,
  cbrt,
  cos,
  exp,
  expm1,
  isFinite,
  log,
  log1p,
  pow,
  rsqrt,
  sigmoid,
  sign,
  sin,
  tan,
  tanh,
} from '../../../ops/index.js';
import type { HloCall } from '../lowering/call.js';
import type { HloValue } from '../language/types.js';
import { hloRule, type RuleEntry } from './rule.js';

/** Functions of floats that StableHLO has; others are written as the expressions that compute them. */
const direct: readonly (readonly [Parameters<typeof hloRule>[0], string])[] = [
  [atan2, 'atan2'],
  [cbrt, 'cbrt'],
  [cos, 'cosine'],
  [exp, 'exponential'],
  [expm1, 'exponential_minus_one'],
  [log, 'log'],
  [log1p, 'log_plus_one'],
  [rsqrt, 'rsqrt'],
  [sigmoid, 'logistic'],
  [sign, 'sign'],
  [sin, 'sine'],
  [tan, 'tan'],
  [tanh, 'tanh'],
];

/** Operands converted to the dtype in which elements are computed, and broadcast to the result. */
function aligned({ hlo, inputs, outputTypes: [{ dtype, shape }] }: HloCall): readonly HloValue[] {
  const wide = dtype === 'float16' || dtype === 'bfloat16' ? 'float32' : dtype;
  return inputs.map((x) => {
    const axes = x.shape.map((_, axis) => axis + shape.length - x.shape.length);
    return hlo.broadcast(hlo.convert(x, wide), shape, axes);
  });
}

export const hloElementwiseRules: readonly RuleEntry[] = [
  ...direct.map(([operator, name]) =>
    hloRule(operator, (call) => {
      const [{ dtype }] = call.outputTypes;
      if (!isFloat(dtype)) return null;
      return call.hlo.convert(call.hlo.map(name, aligned(call)), dtype);
    }),
  ),
  hloRule<{ readonly exponent: number | null }>(pow, (call) => {
    const { hlo, attributes, outputTypes: [{ dtype }] } = call; // prettier-ignore
    const { exponent } = attributes;
    // Small whole exponents are products, and a half is a root, in the operator's own expression.
    const isPlain = exponent !== null && (exponent === 0.5 || (Number.isInteger(exponent) && Math.abs(exponent) <= 4)); // prettier-ignore
    if (!isFloat(dtype) || isPlain) return null;
    const [x, y = hlo.splat(x.dtype, exponent!, x.shape)] = aligned({ ...call, attributes: {} });
    return hlo.convert(hlo.map('power', [x, y]), dtype);
  }),
  hloRule(isFinite, ({ hlo, inputs: [x], inputTypes: [{ dtype }] }) =>
    isFloat(dtype) ? hlo.map('is_finite', [x], 'bool') : null,
  ),
];
