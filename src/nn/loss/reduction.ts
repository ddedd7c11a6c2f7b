import type { NDArray } from '../../front/ndarray.js';

/** What every loss function takes. */
export interface LossOptions {
  /** `mean` over all examples (default), their `sum`, or `none`: one loss an example. */
  readonly reduction?: 'mean' | 'sum' | 'none';
}

/** What a loss function returns of the losses of all examples. */
export function reduce(losses: NDArray, options: LossOptions): NDArray {
  if (options.reduction === 'none') return losses;
  return options.reduction === 'sum' ? losses.sum() : losses.mean();
}
