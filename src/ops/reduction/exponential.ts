import type { Tensor } from '../../ir/types.js';
import type { OperatorFunction } from '../declare.js';
import { add, mul, sub } from '../elementwise/arithmetic.js';
import { isFinite } from '../elementwise/classification.js';
import { exp } from '../elementwise/exponential.js';
import { log } from '../elementwise/logarithm.js';
import { where } from '../elementwise/selection.js';
import { fullLike } from '../movement/fill.js';
import { reshape } from '../movement/reshape.js';
import type { Reduction } from '../signatures.js';
import { max } from './extremum.js';
import { reduction, undefinedWhenEmptySamples } from './reduce.js';
import { sum, unreduce } from './sum.js';

/**
 * `log(sum(exp(x)))` over axes, all by default, without overflow: the greatest element is taken out
 * first. Integers become float32; of no elements it is -Infinity.
 */
export const logsumexp: OperatorFunction<Reduction> = reduction({
  name: 'logsumexp',
  operands: 'float',
  gradient: ({ g, x, result, axes }) => {
    const { shape } = x.type;
    const offset = unreduce(finite(result), shape, axes);
    return mul(unreduce(g, shape, axes), exp(sub(x, offset)));
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], outputTypes: [type], attributes: { axes, keepdims } }) => {
      const { shape } = x.type;
      if (shape.includes(0)) return [fullLike(x, -Infinity, type)];
      const offset = finite(max(x, axes, { keepdims: true }));
      const total = sum(exp(sub(x, offset)), axes, { keepdims });
      return [add(log(total), reshape(offset, total.type.shape))];
    },
  },
  samples: undefinedWhenEmptySamples,
});

/** An infinite offset would turn differences into NaN; 0 does as well there. */
function finite<T extends Tensor>(x: T): T {
  return where(isFinite(x), x, 0);
}
