import { type OperatorFunction, tensor } from '../declare/declare.js';
import type { Unary } from '../signatures.js';
import { add, div, mul } from './arithmetic.js';
import {
  binaryLogarithm,
  decimalLogarithm,
  logarithm,
  logarithmOfOnePlus,
} from './expressions/logarithm.js';
import { realFunction } from './point.js';
import { aboveZero } from './samples.js';

/** The natural logarithm. 0 gives -Infinity, less gives NaN. Integers become float32. */
export const log: OperatorFunction<Unary> = realFunction({
  name: 'log',
  value: logarithm,
  gradient: (g, x) => div(g, x),
  samples: aboveZero,
});

/** `log(1 + x)`, accurate also where `x` is small. Integers become float32. */
export const log1p: OperatorFunction<Unary> = realFunction({
  name: 'log1p',
  value: logarithmOfOnePlus,
  gradient: (g, x) => div(g, add(x, 1)),
  samples: [{ args: [tensor(['n', 3], { low: -0.9 })] }, aboveZero[1]],
});

/** The logarithm to base 2. Integers become float32. */
export const log2: OperatorFunction<Unary> = realFunction({
  name: 'log2',
  value: binaryLogarithm,
  gradient: (g, x) => div(mul(g, Math.LOG2E), x),
  samples: aboveZero,
});

/** The logarithm to base 10. Integers become float32. */
export const log10: OperatorFunction<Unary> = realFunction({
  name: 'log10',
  value: decimalLogarithm,
  gradient: (g, x) => div(mul(g, Math.LOG10E), x),
  samples: aboveZero,
});
