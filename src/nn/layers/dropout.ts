import { ArgumentError } from '../../base/errors.js';
import { isTraining } from '../../front/autograd/index.js';
import type { NDArray } from '../../front/ndarray.js';
import * as random from '../../front/random.js';
import { extentsOf } from '../../front/tracedshape.js';
import { HybridBlock } from '../block.js';
import { checkInput } from '../input.js';

/**
 * In training mode zeroes each element with probability `rate` and scales the others so that the mean
 * stays. Source: Srivastava et al., JMLR 2014.
 */
export class Dropout extends HybridBlock {
  readonly rate: number;

  constructor(rate: number) {
    super();
    if (!(rate >= 0 && rate < 1)) {
      throw new ArgumentError('a dropout rate is a probability', {
        op: 'Dropout',
        expected: '0 <= rate < 1',
        actual: String(rate),
      });
    }
    this.rate = rate;
  }

  override forward(x: NDArray): NDArray {
    checkInput(this, 'x', x);
    if (!isTraining() || this.rate === 0) return x;
    const kept = random.bernoulli(extentsOf(x), { p: 1 - this.rate, dtype: x.dtype });
    return x.mul(kept).mul(1 / (1 - this.rate));
  }
}
