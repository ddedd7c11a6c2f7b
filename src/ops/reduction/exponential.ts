import type { Tensor } from '../../ir/types.js';
import type { OperatorFunction } from '../declare/declare.js';
import { isEmptySize } from '../declare/infer.js';
import { add, div, mul, sub } from '../elementwise/arithmetic.js';
import { isFinite } from '../elementwise/classification.js';
import { equal } from '../elementwise/comparison.js';
import { exp } from '../elementwise/exponential.js';
import { log } from '../elementwise/logarithm.js';
import { logicalAnd, logicalNot } from '../elementwise/logic.js';
import { where } from '../elementwise/selection.js';
import { fullLike } from '../movement/fill.js';
import { reshape } from '../movement/reshape.js';
import { stopGradient } from '../structure/identity.js';
import type { Reduction } from '../signatures.js';
import { greatestNumber } from './lowered.js';
import { reduction, undefinedWhenEmptySamples } from './reduce.js';
import { restoreAxes, sum } from './sum.js';

/**
 * `log(sum(exp(x)))` over axes, all by default, without overflow: the maximum is subtracted first. The
 * gradient is the softmax. Integers become float32; of no elements it is -Infinity.
 */
export const logsumexp: OperatorFunction<Reduction> = reduction({
  name: 'logsumexp',
  operands: 'float',
  gradient: ({ g, x, result, axes }) => {
    const { shape } = x.type;
    if (shape.some(isEmptySize)) return fullLike(x, 0);
    // Divided by their sum: a large result has lost significant digits. It is near the maximum, and of no elements, too.
    const terms = exp(distanceFrom(stopGradient(restoreAxes(result, shape, axes)), x));
    const total = sum(terms, axes, { keepdims: true });
    return mul(restoreAxes(g, shape, axes), div(terms, total));
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], outputTypes: [type], attributes: { axes, keepdims } }) => {
      const { shape } = x.type;
      if (shape.some(isEmptySize)) return [fullLike(x, -Infinity, type)];
      // NaN is not the greatest number, but then the total is NaN.
      const offset = finite(greatestNumber(x, axes, { keepdims: true }));
      const total = sum(exp(sub(x, offset)), axes, { keepdims });
      return [add(log(total), reshape(offset, total.type.shape))];
    },
  },
  samples: undefinedWhenEmptySamples,
});

/** x - offset, and 0 for equal infinities, which share evenly, as in `logaddexp`. */
function distanceFrom<T extends Tensor>(offset: T, x: T): T {
  const isUndefined = logicalAnd(equal(x, offset), logicalNot(isFinite(x)));
  return where(isUndefined, 0, sub(x, offset));
}

/** An infinite offset would turn differences into NaN; 0 works as well there. */
function finite<T extends Tensor>(x: T): T {
  return where(isFinite(x), x, 0);
}
