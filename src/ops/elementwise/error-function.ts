import type { Tensor } from '../../ir/types.js';
import type { OperatorFunction } from '../declare/declare.js';
import type { Unary } from '../signatures.js';
import { mul, neg, square } from './arithmetic.js';
import { exp } from './exponential.js';
import { errorComplement, errorFunction } from './expressions/error-function.js';
import { realFunction } from './point.js';
import { anywhere } from './samples.js';

/** The error function, `2 / sqrt(pi)` times the integral of `exp(-t * t)` from 0. Integers become float32. */
export const erf: OperatorFunction<Unary> = realFunction({
  name: 'erf',
  value: errorFunction,
  gradient: (g, x) => mul(g, density(x, 2 / Math.sqrt(Math.PI), 1)),
  onnx: 'Erf',
  samples: anywhere,
});

/** `1 - erf(x)`, accurate also for small results. Integers become float32. */
export const erfc: OperatorFunction<Unary> = realFunction({
  name: 'erfc',
  value: errorComplement,
  gradient: (g, x) => neg(mul(g, density(x, 2 / Math.sqrt(Math.PI), 1))),
  samples: anywhere,
});

/** height * exp(-steepness x^2) */
function density<T extends Tensor>(x: T, height: number, steepness: number): T {
  return mul(exp(mul(square(x), -steepness)), height);
}
