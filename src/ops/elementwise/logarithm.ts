import { type OperatorFunction, tensor } from '../declare/declare.js';
import type { Unary } from '../signatures.js';
import { add, div, mul } from './arithmetic.js';
import {
  binaryLogarithm,
  decimalLogarithm,
  logarithm,
  logarithmOfOnePlus,
} from './expressions/logarithm.js';
import { unaryOperator } from './point.js';

const samples = [
  { args: [tensor(['n', 3], { low: 0.1 })] },
  { args: [tensor(['n'], { dtype: 'int32', low: 1, high: 9 })] },
];

/** The natural logarithm. 0 gives -Infinity, less gives NaN. Integers become float32. */
export const log: OperatorFunction<Unary> = unaryOperator({
  name: 'log',
  operands: 'float',
  value: logarithm,
  gradient: (g, x) => div(g, x),
  samples,
});

/** `log(1 + x)`, accurate also where `x` is small. Integers become float32. */
export const log1p: OperatorFunction<Unary> = unaryOperator({
  name: 'log1p',
  operands: 'float',
  value: logarithmOfOnePlus,
  gradient: (g, x) => div(g, add(x, 1)),
  samples: [{ args: [tensor(['n', 3], { low: -0.9 })] }, samples[1]],
});

/** The logarithm to base 2. Integers become float32. */
export const log2: OperatorFunction<Unary> = unaryOperator({
  name: 'log2',
  operands: 'float',
  value: binaryLogarithm,
  gradient: (g, x) => div(mul(g, Math.LOG2E), x),
  samples,
});

/** The logarithm to base 10. Integers become float32. */
export const log10: OperatorFunction<Unary> = unaryOperator({
  name: 'log10',
  operands: 'float',
  value: decimalLogarithm,
  gradient: (g, x) => div(mul(g, Math.LOG10E), x),
  samples,
});
