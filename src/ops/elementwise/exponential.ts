import { type OperatorFunction, tensor } from '../declare/declare.js';
import type { Unary } from '../signatures.js';
import { mul } from './arithmetic.js';
import { binaryExponential, exponential, exponentialMinusOne } from './expressions/exponential.js';
import { unaryOperator } from './point.js';

const samples = [{ args: [tensor(['n', 3])] }, { args: [tensor(['n'], { dtype: 'int32' })] }];

/** `e ** x`. Integers become float32. */
export const exp: OperatorFunction<Unary> = unaryOperator({
  name: 'exp',
  operands: 'float',
  value: exponential,
  gradient: (g, _x, y) => mul(g, y),
  samples,
});

/** `2 ** x`, exact for whole `x`. Integers become float32. */
export const exp2: OperatorFunction<Unary> = unaryOperator({
  name: 'exp2',
  operands: 'float',
  value: binaryExponential,
  gradient: (g, _x, y) => mul(g, mul(y, Math.LN2)),
  samples,
});

/** `e ** x - 1`, accurate also where `x` is small. Integers become float32. */
export const expm1: OperatorFunction<Unary> = unaryOperator({
  name: 'expm1',
  operands: 'float',
  value: exponentialMinusOne,
  gradient: (g, x) => mul(g, exp(x)), // the result and 1 cancel
  samples,
});
