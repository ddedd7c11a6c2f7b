import type { OperatorFunction } from '../declare/declare.js';
import type { Unary } from '../signatures.js';
import { add, mul, sub } from './arithmetic.js';
import { logistic, logisticProduct } from './expressions/logistic.js';
import { bothSides } from './samples.js';
import { realFunction } from './point.js';

/** `1 / (1 + exp(-x))`, accurate in both tails. Integers become float32. */
export const sigmoid: OperatorFunction<Unary> = realFunction({
  name: 'sigmoid',
  value: logistic,
  gradient: (g, _x, y) => mul(g, mul(y, sub(1, y))),
  samples: bothSides,
});

/** `x * sigmoid(x)`, also called swish. Integers become float32. */
export const silu: OperatorFunction<Unary> = realFunction({
  name: 'silu',
  value: logisticProduct,
  gradient: (g, x, y) => {
    const s = sigmoid(x);
    return mul(g, add(s, mul(y, sub(1, s))));
  },
  samples: bothSides,
});
