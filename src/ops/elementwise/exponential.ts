import type { OperatorFunction } from '../declare/declare.js';
import type { Unary } from '../signatures.js';
import { mul } from './arithmetic.js';
import { binaryExponential, exponential, exponentialMinusOne } from './expressions/exponential.js';
import { realFunction } from './point.js';
import { anywhere } from './samples.js';

/** `e ** x`. Integers become float32. */
export const exp: OperatorFunction<Unary> = realFunction({
  name: 'exp',
  value: exponential,
  gradient: (g, _x, y) => mul(g, y),
  samples: anywhere,
});

/** `2 ** x`, exact for whole `x`. Integers become float32. */
export const exp2: OperatorFunction<Unary> = realFunction({
  name: 'exp2',
  value: binaryExponential,
  gradient: (g, _x, y) => mul(g, mul(y, Math.LN2)),
  samples: anywhere,
});

/** `e ** x - 1`, accurate also where `x` is small. Integers become float32. */
export const expm1: OperatorFunction<Unary> = realFunction({
  name: 'expm1',
  value: exponentialMinusOne,
  gradient: (g, x) => mul(g, exp(x)), // the result and 1 cancel
  samples: anywhere,
});
