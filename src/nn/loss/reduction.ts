import { oneOfValues, type OptionRules } from '../../base/attributes/options.js';
import type { NDArray } from '../../front/core/ndarray.js';

/** Options of every loss function. */
export interface LossOptions {
  /** `mean` over all examples (default), their `sum`, or `none`: one loss for each example. */
  readonly reduction?: 'mean' | 'sum' | 'none';
}

/** The rules of `LossOptions`. */
export const lossRules: OptionRules<LossOptions> = {
  reduction: oneOfValues('mean', 'sum', 'none'),
};

/** Reduces the losses of all examples as the options say. */
export function reduce(losses: NDArray, options: LossOptions): NDArray {
  if (options.reduction === 'none') return losses;
  return options.reduction === 'sum' ? losses.sum() : losses.mean();
}
