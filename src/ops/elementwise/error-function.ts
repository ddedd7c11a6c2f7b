import type { Tensor } from '../../ir/types.js';
import { type OperatorFunction, tensor } from '../declare/declare.js';
import type { Unary } from '../signatures.js';
import { mul, neg, square } from './arithmetic.js';
import { exp } from './exponential.js';
import { errorComplement, errorFunction } from './expressions/error-function.js';
import { unaryOperator } from './point.js';

const samples = [{ args: [tensor(['n', 3])] }, { args: [tensor(['n'], { dtype: 'int32' })] }];

/** The error function, `2 / sqrt(pi)` times the integral of `exp(-t * t)` from 0. Integers become float32. */
export const erf: OperatorFunction<Unary> = unaryOperator({
  name: 'erf',
  operands: 'float',
  value: errorFunction,
  gradient: (g, x) => mul(g, density(x, 2 / Math.sqrt(Math.PI), 1)),
  onnx: 'Erf',
  samples,
});

/** `1 - erf(x)`, accurate also for small results. Integers become float32. */
export const erfc: OperatorFunction<Unary> = unaryOperator({
  name: 'erfc',
  operands: 'float',
  value: errorComplement,
  gradient: (g, x) => neg(mul(g, density(x, 2 / Math.sqrt(Math.PI), 1))),
  samples,
});

/** height * exp(-steepness x^2) */
function density<T extends Tensor>(x: T, height: number, steepness: number): T {
  return mul(exp(mul(square(x), -steepness)), height);
}
