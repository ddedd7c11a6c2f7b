/** Loss functions: each takes predictions and targets, and reduces over all examples. */
import { type Dim, sameDim } from '../../base/dim.js';
import { isFloat } from '../../base/dtype.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import type { NDArray } from '../../front/ndarray.js';
import {
  abs, add, expandDims, gather, less, log, logSoftmax, maximum, mul, neg, oneHot, relu, softplus,
  square, squeeze, sub, sum, where,
} from '../../ops/index.js'; // prettier-ignore
import { inFloat32, isNarrow } from './precision.js';
import { type LossOptions, reduce } from './reduction.js';

export { ctc, type CTCOptions } from './ctc.js';
export type { LossOptions } from './reduction.js';

function checkSameShape(op: string, a: NDArray, b: NDArray): void {
  if (!sameSizes(a, b)) {
    throw new ShapeError('predictions and targets differ in shape', {
      op,
      expected: `[${a.shape.join(', ')}]`,
      actual: `[${b.shape.join(', ')}]`,
    });
  }
}

/** Sizes that are one symbol are equal without being read. */
function sameSizes(a: NDArray, b: NDArray): boolean {
  const isSame = (dim: Dim, axis: number): boolean =>
    sameDim(dim, b.type.shape[axis]) || a.shape[axis] === b.shape[axis];
  return a.ndim === b.ndim && a.type.shape.every(isSame);
}

/** What `softmaxCrossEntropy` takes besides. */
export interface CrossEntropyOptions extends LossOptions {
  /** The axis of `logits` that holds the classes. Default -1. */
  readonly axis?: number;
  /** Moves this share of each target's probability to the uniform distribution. Default 0. */
  readonly labelSmoothing?: number;
}

/**
 * The cross-entropy of softmax(logits) against integer labels (shape of logits without the class axis)
 * or against probabilities (shape of logits).
 */
export function softmaxCrossEntropy(
  logits: NDArray,
  targets: NDArray,
  options: CrossEntropyOptions = {},
): NDArray {
  if (isNarrow(logits, targets)) return inFloat32(softmaxCrossEntropy, logits, targets, options);
  const axis = options.axis ?? -1;
  const smoothing = options.labelSmoothing ?? 0;
  if (!(smoothing >= 0 && smoothing < 1)) {
    throw new ArgumentError('labelSmoothing is a share', {
      op: 'softmaxCrossEntropy',
      expected: '0 <= labelSmoothing < 1',
      actual: String(smoothing),
    });
  }
  const logProbabilities = logSoftmax(logits, axis);
  if (isFloat(targets.dtype)) {
    checkSameShape('softmaxCrossEntropy', logits, targets);
    return reduce(neg(sum(mul(logProbabilities, smooth(targets, smoothing, axis)), axis)), options);
  }
  if (smoothing > 0) {
    const classes = logits.shape.at(axis)!;
    const hot = oneHot(targets, classes, { dtype: logits.dtype });
    return softmaxCrossEntropy(logits.moveaxis(axis, -1), hot, { ...options, axis: -1 });
  }
  const picked = gather(logProbabilities, expandDims(targets, axis), { axis });
  return reduce(neg(squeeze(picked, axis)), options);
}

function smooth(targets: NDArray, share: number, axis: number): NDArray {
  return share === 0 ? targets : targets.mul(1 - share).add(share / targets.shape.at(axis)!);
}

/** The mean squared error. */
export function mse(predictions: NDArray, targets: NDArray, options: LossOptions = {}): NDArray {
  if (isNarrow(predictions, targets)) return inFloat32(mse, predictions, targets, options);
  checkSameShape('mse', predictions, targets);
  return reduce(square(sub(predictions, targets)), options);
}

/** The mean absolute error. */
export function l1(predictions: NDArray, targets: NDArray, options: LossOptions = {}): NDArray {
  if (isNarrow(predictions, targets)) return inFloat32(l1, predictions, targets, options);
  checkSameShape('l1', predictions, targets);
  return reduce(abs(sub(predictions, targets)), options);
}

/** What `huber` takes besides. */
export interface HuberOptions extends LossOptions {
  /** Where the loss turns from quadratic to linear. Default 1. */
  readonly delta?: number;
}

/** Quadratic near zero, linear beyond `delta`. Source: Huber, 1964. */
export function huber(predictions: NDArray, targets: NDArray, options: HuberOptions = {}): NDArray {
  if (isNarrow(predictions, targets)) return inFloat32(huber, predictions, targets, options);
  checkSameShape('huber', predictions, targets);
  const delta = options.delta ?? 1;
  const error = sub(predictions, targets);
  const size = abs(error);
  const losses = where(less(size, delta), square(error).mul(0.5), size.sub(delta / 2).mul(delta));
  return reduce(losses, options);
}

/** What `binaryCrossEntropy` takes besides. */
export interface BinaryCrossEntropyOptions extends LossOptions {
  /** Whether predictions are logits (default) rather than probabilities. */
  readonly fromLogits?: boolean;
}

/** The cross-entropy of independent yes-or-no predictions, stable for large logits. */
export function binaryCrossEntropy(
  predictions: NDArray,
  targets: NDArray,
  options: BinaryCrossEntropyOptions = {},
): NDArray {
  if (isNarrow(predictions, targets)) {
    return inFloat32(binaryCrossEntropy, predictions, targets, options);
  }
  checkSameShape('binaryCrossEntropy', predictions, targets);
  if (options.fromLogits ?? true) {
    // max(x, 0) - x t + log(1 + exp(-|x|))
    const losses = add(
      sub(relu(predictions), mul(predictions, targets)),
      softplus(neg(abs(predictions))),
    );
    return reduce(losses, options);
  }
  // The logarithm is cut off where float32 would make it infinite, as PyTorch does.
  const bounded = (p: NDArray): NDArray => maximum(log(p), -100);
  const yes = mul(targets, bounded(predictions));
  const no = mul(sub(1, targets), bounded(sub(1, predictions)));
  return reduce(neg(add(yes, no)), options);
}

/** What `kl` takes besides. */
export interface KlOptions extends LossOptions {
  /** The axis of the distributions. Default -1. */
  readonly axis?: number;
}

/**
 * The Kullback-Leibler divergence of a target distribution from a prediction given as log-probabilities;
 * a target of zero contributes nothing.
 */
export function kl(logPredictions: NDArray, targets: NDArray, options: KlOptions = {}): NDArray {
  if (isNarrow(logPredictions, targets)) return inFloat32(kl, logPredictions, targets, options);
  checkSameShape('kl', logPredictions, targets);
  const present = targets.greater(0);
  const safe = where(present, targets, 1);
  const terms = where(present, mul(targets, sub(log(safe), logPredictions)), 0);
  return reduce(sum(terms, options.axis ?? -1), options);
}
