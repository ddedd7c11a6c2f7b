import { oneOfValues, type OptionRules } from '../../base/attributes/options.js';
import type { NDArray } from '../../front/core/ndarray.js';

/** What every loss function takes. */
export interface LossOptions {
  /** `mean` over all examples (default), their `sum`, or `none`: one loss an example. */
  readonly reduction?: 'mean' | 'sum' | 'none';
}

/** The rules of `LossOptions`. */
export const lossRules: OptionRules<LossOptions> = {
  reduction: oneOfValues('mean', 'sum', 'none'),
};

/** What a loss function returns of the losses of all examples. */
export function reduce(losses: NDArray, options: LossOptions): NDArray {
  if (options.reduction === 'none') return losses;
  return options.reduction === 'sum' ? losses.sum() : losses.mean();
}
