import { checkArgument, valueRule, type ValueRule } from '../../base/attributes/options.js';
import { isTraining } from '../../front/autograd/index.js';
import type { NDArray } from '../../front/core/ndarray.js';
import * as random from '../../front/arrays/random.js';
import { extentsOf } from '../../front/dispatch/traced-shape.js';
import { HybridBlock } from '../block.js';
import { checkInput } from '../input.js';

/** The fraction of elements that are dropped. */
export const dropoutRate: ValueRule<number> = valueRule(
  'a probability, 0 <= rate < 1',
  (value): value is number => typeof value === 'number' && value >= 0 && value < 1,
);

/**
 * In training mode zeroes each element with probability `rate` and scales the others so that the mean
 * stays. Source: Srivastava et al., JMLR 2014.
 */
export class Dropout extends HybridBlock {
  readonly rate: number;

  constructor(rate: number) {
    super();
    checkArgument('Dropout', 'rate', rate, dropoutRate);
    this.rate = rate;
  }

  override forward(x: NDArray): NDArray {
    checkInput(this, 'x', x);
    if (!isTraining() || this.rate === 0) return x;
    const kept = random.bernoulli(extentsOf(x), { p: 1 - this.rate, dtype: x.dtype });
    return x.mul(kept).mul(1 / (1 - this.rate));
  }
}
