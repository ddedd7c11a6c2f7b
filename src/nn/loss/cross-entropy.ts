import { type Dim, isStatic } from '../../base/dim/index.js';
import { type DType, isFloat } from '../../base/dtype.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import {
  checkOptions,
  eitherRule,
  instanceOf,
  integer,
  type OptionRules,
  valueRule,
} from '../../base/attributes/options.js';
import { array } from '../../front/arrays/creation.js';
import { NDArray } from '../../front/core/ndarray.js';
import type { FloatDType } from '../../front/core/result-dtypes.js';
import { extentsOf } from '../../front/dispatch/traced-shape.js';
import {
  add, cast, classPosition, div, expandDims, gather, greaterEqual, logSoftmax, maximum, mean, mul, neg,
  reshape, squeeze, sum, take, where,
} from '../../ops/index.js'; // prettier-ignore
import { checkArrays, classAxis, fittingLabels, fittingTargets, inNameOf } from './checks.js';
import { lossInFloat32, isNarrowLoss } from './precision.js';
import { lossRules, type LossOptions, reduce } from './reduction.js';

/** Options of `softmaxCrossEntropy`. */
export interface CrossEntropyOptions extends LossOptions {
  /** The axis of `logits` that holds the classes. Default -1. */
  readonly axis?: number;
  /** The fraction of each target's probability that is moved to the uniform distribution. Default 0. */
  readonly labelSmoothing?: number;
  /**
   * The label of ignored examples: they add nothing to the loss and have no gradient. May or may not be a
   * class. For integer labels only. Default none.
   */
  readonly ignoreIndex?: number;
  /** A weight for each class. Default 1 for all. */
  readonly weight?: NDArray | readonly number[];
}

const op = 'softmaxCrossEntropy';

const rules: OptionRules<CrossEntropyOptions> = {
  ...lossRules,
  axis: integer,
  labelSmoothing: valueRule(
    'a number, 0 <= labelSmoothing < 1',
    (value): value is number => typeof value === 'number' && value >= 0 && value < 1,
  ),
  ignoreIndex: integer,
  weight: eitherRule(
    instanceOf('an array', NDArray),
    valueRule(
      'a list of numbers, one for each class',
      (value): value is readonly number[] =>
        Array.isArray(value) && value.every((each) => typeof each === 'number'),
    ),
  ),
};

/**
 * The cross-entropy of softmax(logits) against integer labels (shape of logits without the class axis) or
 * against probabilities (shape of logits).
 *
 * The mean is weighted: the sum over examples that are not ignored is divided by the sum of the weights of
 * their labels, as in PyTorch; for probabilities, by the number of examples. If every example is ignored, the
 * mean is NaN and gradients are zero.
 *
 * @throws ArgumentError for a label that is not a class, with the first such label and its position: eagerly,
 * and when captured code runs whose labels are inputs; ShapeError for targets or weights of other shapes.
 */
export function softmaxCrossEntropy(
  logits: NDArray,
  targets: NDArray,
  options: CrossEntropyOptions = {},
): NDArray<FloatDType> {
  checkArrays(op, { logits, targets });
  checkOptions(op, options, rules);
  if (isNarrowLoss(logits, targets))
    return lossInFloat32(softmaxCrossEntropy, logits, targets, options);
  const axis = classAxis(op, logits, options.axis ?? -1);
  const weight = weightOf(options.weight, logits, axis);
  const logProbabilities = logSoftmax(logits, axis);
  return isFloat(targets.dtype)
    ? againstProbabilities(logProbabilities, targets, axis, weight, options)
    : againstLabels(logProbabilities, targets, axis, weight, options);
}

function againstProbabilities(
  logProbabilities: NDArray,
  targets: NDArray,
  axis: number,
  weight: NDArray | null,
  { labelSmoothing = 0, ignoreIndex, ...options }: CrossEntropyOptions,
): NDArray {
  const areLabels = targets.ndim === logProbabilities.ndim - 1;
  const advice = areLabels
    ? "labels are integers: kn.array(labels, { dtype: 'int32' })"
    : undefined;
  const fitting = fittingTargets(op, logProbabilities, targets, advice);
  if (ignoreIndex !== undefined) {
    throw new ArgumentError('ignoreIndex applies to labels', {
      op,
      expected: 'integer labels with ignoreIndex',
      actual: `${targets.dtype} probabilities`,
      advice: 'give such examples probabilities of zero, and divide by the number of the others',
    });
  }
  const scores = weighted(logProbabilities, weight, axis);
  const losses = neg(sum(mul(scores, fitting), axis));
  return reduce(labelSmoothing === 0 ? losses : smoothed(losses, scores, axis, labelSmoothing), options); // prettier-ignore
}

/** Losses where a part of the wanted probability is spread evenly over all classes. */
function smoothed(losses: NDArray, scores: NDArray, axis: number, part: number): NDArray {
  return add(mul(losses, 1 - part), mul(neg(mean(scores, axis)), part));
}

function againstLabels(
  logProbabilities: NDArray,
  labels: NDArray,
  axis: number,
  weight: NDArray | null,
  { labelSmoothing = 0, ignoreIndex, reduction }: CrossEntropyOptions,
): NDArray {
  const fitting = fittingLabels(op, logProbabilities, labels, axis);
  const classes = extentsOf(logProbabilities)[axis];
  const positions = inNameOf(op, classPosition.declaration.name, () =>
    classPosition(fitting, classes, { ignoreIndex: ignoreIndex ?? null }),
  );
  const counts = ignoreIndex === undefined ? null : greaterEqual(positions, 0);
  const known = counts === null ? positions : maximum(positions, 0);
  const own = weight === null ? null : take(weight, known, { axis: 0 });
  const picked = squeeze(gather(logProbabilities, expandDims(known, axis), { axis }), axis);
  let losses = neg(own === null ? picked : mul(picked, own));
  if (labelSmoothing > 0) {
    losses = smoothed(losses, weighted(logProbabilities, weight, axis), axis, labelSmoothing);
  }
  // Last, so that ignored examples have no gradient, whatever the divisor.
  if (counts !== null) losses = where(counts, losses, 0);
  if (reduction === 'none' || reduction === 'sum' || (counts === null && own === null)) {
    return reduce(losses, { reduction: reduction ?? 'mean' });
  }
  // Counted in a wider dtype: a 16-bit float cannot represent large counts.
  const wide = widened(losses.dtype);
  const shares = own === null ? cast(counts!, wide) : cast(own, wide);
  const total = sum(own === null || counts === null ? shares : where(counts, shares, 0));
  return cast(div(sum(cast(losses, wide)), total), losses.dtype);
}

function widened(dtype: DType): DType {
  return dtype === 'float16' || dtype === 'bfloat16' ? 'float32' : dtype;
}

/** The class weights in the dtype of the logits; null when there are none. */
function weightOf(
  given: CrossEntropyOptions['weight'],
  logits: NDArray,
  axis: number,
): NDArray | null {
  if (given === undefined) return null;
  const weight = given instanceof NDArray ? given : array(given);
  const classes = logits.type.shape[axis];
  const differs = (extent: Dim): boolean =>
    isStatic(extent) && isStatic(classes) && extent !== classes;
  if (weight.ndim !== 1 || differs(weight.type.shape[0])) {
    throw new ShapeError('there must be one weight for each class', {
      op,
      expected: `[${String(classes)}]`,
      actual: `[${weight.type.shape.map(String).join(', ')}]`,
    });
  }
  return cast(weight, isFloat(logits.dtype) ? logits.dtype : 'float32');
}

/** Log-probabilities, multiplied by the class weights. */
function weighted(x: NDArray, weight: NDArray | null, axis: number): NDArray {
  if (weight === null) return x;
  const others = x.ndim - 1 - axis;
  return mul(x, others === 0 ? weight : reshape(weight, [-1, ...Array<number>(others).fill(1)]));
}
