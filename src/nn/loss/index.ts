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

/**
 * The reduced losses that `losses` makes of predictions and of targets of their shape. A loss of 16-bit floats is
 * computed in float32.
 */
function lossOf<O extends LossOptions>(
  op: string,
  rules: OptionRules<O>,
  [predictions, targets, options]: readonly [NDArray, NDArray, O],
  losses: (predictions: NDArray, targets: NDArray) => NDArray,
): NDArray<FloatDType> {
  checkOptions(op, options, rules);
  const make = (p: NDArray, t: NDArray): NDArray =>
    reduce(losses(p, fittingTargets(op, p, t)), options);
  if (isNarrowLoss(predictions, targets)) return lossInFloat32(make, predictions, targets, options);
  return make(predictions, targets);
}

/** The mean squared error. */
export function mse(
  predictions: NDArray,
  targets: NDArray,
  options: LossOptions = {},
): NDArray<FloatDType> {
  return lossOf('mse', lossRules, [predictions, targets, options], (p, t) => square(sub(p, t)));
}

/** The mean absolute error. */
export function l1(
  predictions: NDArray,
  targets: NDArray,
  options: LossOptions = {},
): NDArray<FloatDType> {
  return lossOf('l1', lossRules, [predictions, targets, options], (p, t) => abs(sub(p, t)));
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
  return lossOf('huber', huberRules, [predictions, targets, options], (p, t) => {
    const delta = options.delta ?? 1;
    const error = sub(p, t);
    const size = abs(error);
    return where(less(size, delta), square(error).mul(0.5), size.sub(delta / 2).mul(delta));
  });
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
  return lossOf('binaryCrossEntropy', binaryRules, [predictions, targets, options], (x, t) => {
    // max(x, 0) - x t + log(1 + exp(-|x|))
    if (options.fromLogits ?? true) return add(sub(relu(x), mul(x, t)), softplus(neg(abs(x))));
    // The logarithm is clamped where float32 would make it infinite, as in PyTorch.
    const bounded = (p: NDArray): NDArray => maximum(log(p), -100);
    return neg(add(mul(t, bounded(x)), mul(sub(1, t), bounded(sub(1, x)))));
  });
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
  return lossOf('kl', klRules, [logPredictions, targets, options], (p, t) => {
    const isNone = equal(t, 0);
    const safe = where(isNone, 1, t);
    return sum(where(isNone, 0, mul(t, sub(log(safe), p))), options.axis ?? -1);
  });
}
