import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import { type OperatorFunction, tensor } from '../declare/declare.js';
import type { Binary } from '../signatures.js';
import { mul, sub } from './arithmetic.js';
import { isFinite } from './classification.js';
import { equal } from './comparison.js';
import { exponentialOfSum } from './expressions/exponential.js';
import { logarithmOfOnePlus } from './expressions/logarithm.js';
import { exactSum } from './format.js';
import { shareOf } from './gradient-terms.js';
import { logicalNot, logicalAnd } from './logic.js';
import { binary } from './point.js';
import { where } from './selection.js';

/**
 * `log(exp(x) + exp(y))` without overflow. Integers become float32. The gradient is shared out by
 * sigmoid(x - y), so that shares add up to 1 however large the operands are; equal infinities share evenly.
 */
export const logaddexp: OperatorFunction<Binary> = binary({
  name: 'logaddexp',
  operands: 'float',
  value: (x, y) => {
    const [greater, lesser] = [e.max(x, y), e.min(x, y)];
    // The exponential magnifies what rounding takes from the distance; of an infinite one that is nothing.
    const [distance, lost] = exactSum(lesser, e.neg(greater));
    const error = e.select(e.gt(distance, -Infinity), lost, 0);
    const share = exponentialOfSum(distance, error, e.constant(x.type.scalar, 1));
    const sum = e.add(greater, logarithmOfOnePlus(share));
    // Equal infinities have no distance.
    return e.select(e.eq(x, y), e.add(x, Math.LN2), sum);
  },
  gradient: [
    (g, x, y) => mul(g, shareOf(distanceOf(x, y))),
    (g, x, y) => mul(g, shareOf(distanceOf(y, x))),
  ],
  samples: [{ args: [tensor(['n', 3]), tensor([3])] }],
});

/** x - y, and 0 for equal infinities: only those, for where finite numbers are equal it varies, too. */
function distanceOf<T extends Tensor>(x: T, y: T): T {
  const isUndefined = logicalAnd(equal(x, y), logicalNot(isFinite(x)));
  return where(isUndefined, 0, sub(x, y));
}
