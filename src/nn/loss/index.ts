/** Loss functions: each takes predictions and targets, and reduces over all examples. */
import {
  checkOptions,
  flag,
  integer,
  type OptionRules,
  positiveNumber,
} from '../../base/attributes/options.js';
import type { NDArray } from '../../front/core/ndarray.js';
import type { FloatDType } from '../../front/core/result-dtypes.js';
import {
  abs, add, equal, less, log, maximum, mul, neg, relu, softplus, square, sub, sum, where,
} from '../../ops/index.js'; // prettier-ignore
import { fittingTargets } from './checks.js';
import { lossInFloat32, isNarrowLoss } from './precision.js';
import { lossRules, type LossOptions, reduce } from './reduction.js';

export { type CrossEntropyOptions, softmaxCrossEntropy } from './cross-entropy.js';
export { ctc, type CTCOptions } from './ctc.js';
export type { LossOptions } from './reduction.js';

/** The mean squared error. */
export function mse(
  predictions: NDArray,
  targets: NDArray,
  options: LossOptions = {},
): NDArray<FloatDType> {
  checkOptions('mse', options, lossRules);
  if (isNarrowLoss(predictions, targets)) return lossInFloat32(mse, predictions, targets, options);
  const wanted = fittingTargets('mse', predictions, targets);
  return reduce(square(sub(predictions, wanted)), options);
}

/** The mean absolute error. */
export function l1(
  predictions: NDArray,
  targets: NDArray,
  options: LossOptions = {},
): NDArray<FloatDType> {
  checkOptions('l1', options, lossRules);
  if (isNarrowLoss(predictions, targets)) return lossInFloat32(l1, predictions, targets, options);
  const wanted = fittingTargets('l1', predictions, targets);
  return reduce(abs(sub(predictions, wanted)), options);
}

/** Options of `huber`. */
export interface HuberOptions extends LossOptions {
  /** The point where the loss turns from quadratic to linear; above 0. Default 1. */
  readonly delta?: number;
}

const huberRules: OptionRules<HuberOptions> = { ...lossRules, delta: positiveNumber };

/** Quadratic near zero, linear beyond `delta`. Source: Huber, 1964. */
export function huber(
  predictions: NDArray,
  targets: NDArray,
  options: HuberOptions = {},
): NDArray<FloatDType> {
  checkOptions('huber', options, huberRules);
  if (isNarrowLoss(predictions, targets))
    return lossInFloat32(huber, predictions, targets, options);
  const wanted = fittingTargets('huber', predictions, targets);
  const delta = options.delta ?? 1;
  const error = sub(predictions, wanted);
  const size = abs(error);
  const losses = where(less(size, delta), square(error).mul(0.5), size.sub(delta / 2).mul(delta));
  return reduce(losses, options);
}

/** Options of `binaryCrossEntropy`. */
export interface BinaryCrossEntropyOptions extends LossOptions {
  /** True (the default) when predictions are logits, false when they are probabilities. */
  readonly fromLogits?: boolean;
}

const binaryRules: OptionRules<BinaryCrossEntropyOptions> = { ...lossRules, fromLogits: flag };

/** The cross-entropy of independent binary predictions, stable for large logits. */
export function binaryCrossEntropy(
  predictions: NDArray,
  targets: NDArray,
  options: BinaryCrossEntropyOptions = {},
): NDArray<FloatDType> {
  checkOptions('binaryCrossEntropy', options, binaryRules);
  if (isNarrowLoss(predictions, targets)) {
    return lossInFloat32(binaryCrossEntropy, predictions, targets, options);
  }
  const wanted = fittingTargets('binaryCrossEntropy', predictions, targets);
  if (options.fromLogits ?? true) {
    // max(x, 0) - x t + log(1 + exp(-|x|))
    const losses = add(
      sub(relu(predictions), mul(predictions, wanted)),
      softplus(neg(abs(predictions))),
    );
    return reduce(losses, options);
  }
  // The logarithm is clamped where float32 would make it infinite, as in PyTorch.
  const bounded = (p: NDArray): NDArray => maximum(log(p), -100);
  const yes = mul(wanted, bounded(predictions));
  const no = mul(sub(1, wanted), bounded(sub(1, predictions)));
  return reduce(neg(add(yes, no)), options);
}

/** Options of `kl`. */
export interface KlOptions extends LossOptions {
  /** The axis of the distributions. Default -1. */
  readonly axis?: number;
}

const klRules: OptionRules<KlOptions> = { ...lossRules, axis: integer };

/**
 * The Kullback-Leibler divergence of a target distribution from a prediction given as log-probabilities; a
 * target of zero contributes nothing, and an invalid probability makes the loss NaN.
 */
export function kl(
  logPredictions: NDArray,
  targets: NDArray,
  options: KlOptions = {},
): NDArray<FloatDType> {
  checkOptions('kl', options, klRules);
  if (isNarrowLoss(logPredictions, targets))
    return lossInFloat32(kl, logPredictions, targets, options);
  const wanted = fittingTargets('kl', logPredictions, targets);
  const isNone = equal(wanted, 0);
  const safe = where(isNone, 1, wanted);
  const terms = where(isNone, 0, mul(wanted, sub(log(safe), logPredictions)));
  return reduce(sum(terms, options.axis ?? -1), options);
}
