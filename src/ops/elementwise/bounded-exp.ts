import { type OperatorFunction, tensor } from '../declare/declare.js';
import type { Unary } from '../signatures.js';
import { mul } from './arithmetic.js';
import { boundedExponential } from './expressions/exponential.js';
import { realFunction } from './point.js';

/**
 * @internal `e ** x` of floats that are at most 40, or NaN: fewer operations. Operators are lowered to it, so it is in
 * no registry.
 */
export const boundedExp: OperatorFunction<Unary> = realFunction({
  name: 'boundedExp',
  value: boundedExponential,
  gradient: (g, _x, y) => mul(g, y),
  samples: [{ args: [tensor(['n', 3], { low: -30, high: 30 })] }],
});
