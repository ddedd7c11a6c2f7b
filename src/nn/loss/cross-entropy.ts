import { type Dim, isStatic } from '../../base/dim/index.js';
import { type DType, isFloat } from '../../base/dtype.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import {
  checkOptions,
  either,
  instanceOf,
  integer,
  type OptionRules,
  rule,
} from '../../base/attributes/options.js';
import { array } from '../../front/arrays/creation.js';
import { NDArray } from '../../front/core/ndarray.js';
import type { FloatDType } from '../../front/core/result-dtypes.js';
import { extentsOf } from '../../front/dispatch/traced-shape.js';
import {
  add, cast, classPosition, div, expandDims, gather, greaterEqual, logSoftmax, maximum, mul, neg, reshape,
  squeeze, sum, take, where,
} from '../../ops/index.js'; // prettier-ignore
import { checkArrays, checkLabelShape, checkSameShape, classAxis, inNameOf } from './checks.js';
import { inFloat32, isNarrow } from './precision.js';
import { lossRules, type LossOptions, reduce } from './reduction.js';

/** What `softmaxCrossEntropy` takes besides. */
export interface CrossEntropyOptions extends LossOptions {
  /** The axis of `logits` that holds the classes. Default -1. */
  readonly axis?: number;
  /** Moves this share of each target's probability to the uniform distribution. Default 0. */
  readonly labelSmoothing?: number;
  /**
   * The label of examples that do not count: they add nothing to the loss and have no gradient. It may be
   * a class or not. Of integer labels only. Default none.
   */
  readonly ignoreIndex?: number;
  /** A weight for each class. Default 1 for all. */
  readonly weight?: NDArray | readonly number[];
}

const op = 'softmaxCrossEntropy';

const rules: OptionRules<CrossEntropyOptions> = {
  ...lossRules,
  axis: integer,
  labelSmoothing: rule(
    'a number, 0 <= labelSmoothing < 1',
    (value): value is number => typeof value === 'number' && value >= 0 && value < 1,
  ),
  ignoreIndex: integer,
  weight: either(
    instanceOf('an array', NDArray),
    rule(
      'a list of numbers, one for each class',
      (value): value is readonly number[] =>
        Array.isArray(value) && value.every((each) => typeof each === 'number'),
    ),
  ),
};

/**
 * The cross-entropy of softmax(logits) against integer labels (shape of logits without the class axis)
 * or against probabilities (shape of logits).
 *
 * The mean is over the examples that count, each as often as the weight of its label says: it divides by
 * the sum of those weights, as in PyTorch. Of probabilities it divides by the number of examples. Where no
 * example counts, the mean of nothing is NaN, and gradients are zero.
 *
 * @throws ArgumentError for a label that is no class, with the first such label and its place: eagerly, and
 * when captured code runs whose labels are inputs; ShapeError for targets or weights of other shapes.
 */
export function softmaxCrossEntropy(
  logits: NDArray,
  targets: NDArray,
  options: CrossEntropyOptions = {},
): NDArray<FloatDType> {
  checkArrays(op, { logits, targets });
  checkOptions(op, options, rules);
  if (isNarrow(logits, targets)) return inFloat32(softmaxCrossEntropy, logits, targets, options);
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
  checkSameShape(op, logProbabilities, targets);
  if (ignoreIndex !== undefined) {
    throw new ArgumentError('ignoreIndex is about labels', {
      op,
      expected: 'integer labels beside ignoreIndex',
      actual: `${targets.dtype} probabilities`,
      advice: 'give such examples probabilities of zero, and divide by the number of the others',
    });
  }
  const share = labelSmoothing / logProbabilities.shape[axis];
  const wanted = labelSmoothing === 0 ? targets : add(mul(targets, 1 - labelSmoothing), share);
  return reduce(neg(sum(mul(weighted(logProbabilities, weight, axis), wanted), axis)), options);
}

function againstLabels(
  logProbabilities: NDArray,
  labels: NDArray,
  axis: number,
  weight: NDArray | null,
  { labelSmoothing = 0, ignoreIndex, reduction }: CrossEntropyOptions,
): NDArray {
  checkLabelShape(op, logProbabilities, labels, axis);
  const classes = extentsOf(logProbabilities)[axis];
  const positions = inNameOf(op, 'classPosition', () =>
    classPosition(labels, classes, { ignoreIndex: ignoreIndex ?? null }),
  );
  const counts = ignoreIndex === undefined ? null : greaterEqual(positions, 0);
  const known = counts === null ? positions : maximum(positions, 0);
  const own = weight === null ? null : take(weight, known, { axis: 0 });
  const picked = squeeze(gather(logProbabilities, expandDims(known, axis), { axis }), axis);
  let losses = neg(own === null ? picked : mul(picked, own));
  if (labelSmoothing > 0) {
    const all = neg(sum(weighted(logProbabilities, weight, axis), axis));
    const share = labelSmoothing / logProbabilities.shape[axis];
    losses = add(mul(losses, 1 - labelSmoothing), mul(all, share));
  }
  // Last, so that nothing of what does not count has a gradient, whatever it is divided by.
  if (counts !== null) losses = where(counts, losses, 0);
  if (reduction === 'none' || reduction === 'sum' || (counts === null && own === null)) {
    return reduce(losses, { reduction: reduction ?? 'mean' });
  }
  // As many as a 16-bit float cannot count.
  const wide = widened(losses.dtype);
  const shares = own === null ? cast(counts!, wide) : cast(own, wide);
  const total = sum(own === null || counts === null ? shares : where(counts, shares, 0));
  return cast(div(sum(cast(losses, wide)), total), losses.dtype);
}

function widened(dtype: DType): DType {
  return dtype === 'float16' || dtype === 'bfloat16' ? 'float32' : dtype;
}

/** The weights of the classes, in the dtype of the logits; null where there are none. */
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

/** Log-probabilities, each times the weight of its class. */
function weighted(x: NDArray, weight: NDArray | null, axis: number): NDArray {
  if (weight === null) return x;
  const others = x.ndim - 1 - axis;
  return mul(x, others === 0 ? weight : reshape(weight, [-1, ...Array<number>(others).fill(1)]));
}
