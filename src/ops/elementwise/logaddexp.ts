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
import { stableSigmoid } from './gradient-terms.js';
import { logicalNot, logicalAnd } from './logic.js';
import { binaryOperator } from './point.js';
import { where } from './selection.js';

/**
 * `log(exp(x) + exp(y))` without overflow. Integers become float32. The gradient is weighted by sigmoid(x -
 * y), so that the weights add up to 1 however large the operands are; equal infinities share evenly.
 */
export const logaddexp: OperatorFunction<Binary> = binaryOperator({
  name: 'logaddexp',
  operands: 'float',
  value: (x, y) => {
    const [greater, lesser] = [e.max(x, y), e.min(x, y)];
    // The exponential magnifies the rounding error of the distance, which is none for an infinite one.
    const [distance, lost] = exactSum(lesser, e.neg(greater));
    const error = e.select(e.gt(distance, -Infinity), lost, 0);
    const share = exponentialOfSum(distance, error, e.constant(x.type.scalar, 1));
    const sum = e.add(greater, logarithmOfOnePlus(share));
    // The distance of equal infinities is NaN.
    return e.select(e.eq(x, y), e.add(x, Math.LN2), sum);
  },
  gradient: [
    (g, x, y) => mul(g, stableSigmoid(distanceOf(x, y))),
    (g, x, y) => mul(g, stableSigmoid(distanceOf(y, x))),
  ],
  samples: [{ args: [tensor(['n', 3]), tensor([3])] }],
});

/** x - y, and 0 for equal infinities: only those, because for equal finite numbers it has a derivative. */
function distanceOf<T extends Tensor>(x: T, y: T): T {
  const isUndefined = logicalAnd(equal(x, y), logicalNot(isFinite(x)));
  return where(isUndefined, 0, sub(x, y));
}
