import type { Dim } from '../../base/dim/index.js';
import { checkOptions, flag, type OptionRules, valueRule } from '../../base/attributes/options.js';
import { foreach } from '../../front/control/index.js';
import type { NDArray } from '../../front/core/ndarray.js';
import type { FloatDType } from '../../front/core/result-dtypes.js';
import { placedBeside } from '../../front/devices/placing.js';
import { extentsOf } from '../../front/dispatch/traced-shape.js';
import {
  add, broadcastTo, cast, equal, expandDims, fill, gather, greaterEqual, iota, less, logaddexp, logicalAnd,
  logSoftmax, neg, notEqual, pad, shift, slice, squeeze, swapaxes, where,
} from '../../ops/index.js'; // prettier-ignore
import { sequenceLayout } from '../layers/options.js';
import type { Lengths } from '../layers/packing.js';
import { checkedAlignment } from './alignment.js';
import { checkArrays } from './checks.js';
import { lossRules, type LossOptions, reduce } from './reduction.js';

export interface CTCOptions extends LossOptions {
  /** Number of steps of each example; the rest is padding. Default: all steps. */
  readonly inputLengths?: Lengths | undefined;
  /** Number of labels of each example; the rest is padding. Default: all labels. */
  readonly labelLengths?: Lengths | undefined;
  /** The class of the blank. Default 0. */
  readonly blank?: number;
  /** Replace infinite losses, of labels that do not fit into their steps, by zero. Default false. */
  readonly zeroInfinity?: boolean;
  /** The axes of `logits`: batch, time, classes, or time first. Default NTC. */
  readonly layout?: 'NTC' | 'TNC';
}

/** Any value: lengths are checked together with the arrays that they belong to. */
const anything = valueRule('a value', (value): value is unknown => value !== undefined);

const rules: OptionRules<CTCOptions> = {
  ...lossRules,
  inputLengths: anything,
  labelLengths: anything,
  blank: anything,
  zeroInfinity: flag,
  layout: sequenceLayout,
};

/**
 * Connectionist temporal classification: -log of the probability that the steps of a sequence spell its
 * labels, in any alignment. Each step emits a class; adjacent steps that emit the same class count once, and
 * blanks do not count.
 *
 * `logits` (batch, time, classes) are not normalized: `logSoftmax` over the classes is part of the loss.
 * `labels` (batch, most) are integers. Padding, in labels or in `logits`, has no influence. Half precision is
 * computed in float32, which is then the dtype of the loss.
 *
 * `mean` is the mean over examples, as for every loss here. PyTorch divides each loss by its number of labels
 * first; use `none` for that.
 *
 * Labels that do not fit, with a blank between equal ones, cost Infinity and have no gradient.
 *
 * @throws ShapeError, DTypeError or ArgumentError for arrays that are not such logits, labels or lengths, for
 * labels that are the blank or not a class, and for lengths beyond the end. Captured code clamps lengths that
 * only a running graph knows to the valid range.
 *
 * Source: Graves et al., Connectionist Temporal Classification, ICML 2006, section 4.1.
 */
export function ctc(
  logits: NDArray,
  labels: NDArray,
  options: CTCOptions = {},
): NDArray<FloatDType> {
  checkArrays('ctc', { logits, labels });
  checkOptions('ctc', options, rules);
  const { blank = 0, layout = 'NTC', zeroInfinity = false } = options;
  const isTimeFirst = layout === 'TNC';
  const lengths = checkedAlignment(logits, labels, { ...options, blank, isTimeFirst });
  const isHalf = logits.dtype === 'float16' || logits.dtype === 'bfloat16';
  const wide = isHalf ? cast(logits, 'float32') : logits;
  const x = isTimeFirst ? wide : swapaxes(wide, 0, 1);
  const [time, batch] = extentsOf(x);
  const [, most] = extentsOf(labels);
  const { steps, count } = lengths;
  const isStep = steps && expandDims(swapaxes(isWithin(steps, time), 0, 1), 2);
  // Masked first: a NaN in the padding would be a NaN in its gradient.
  const logs = logSoftmax(isStep === null ? x : where(isStep, x, 0));
  const classes = classesOf(labels, count && isWithin(count, most), blank);
  const likelihoods = likelihoodsOf({
    blanks: slice(logs, ':', ':', [blank, blank + 1]),
    marks: gather(logs, broadcastTo(classes, [time, batch, most])),
    classes,
    isStep,
  });
  const likelihood =
    count === null
      ? slice(likelihoods, ':', -1)
      : squeeze(gather(likelihoods, expandDims(orNowhere(greaterEqual(count, 0), count), 1)), 1);
  const cost = where(equal(likelihood, -Infinity), zeroInfinity ? 0 : Infinity, neg(likelihood));
  return reduce(cost, options);
}

interface Lattice {
  /** Log-probabilities of the blank at each step: (time, batch, 1). */
  readonly blanks: NDArray;
  /** Log-probabilities of each label at each step: (time, batch, most). */
  readonly marks: NDArray;
  /** (batch, most) */
  readonly classes: NDArray;
  /** Mask of valid steps; null when all are: (time, batch, 1). */
  readonly isStep: NDArray | null;
}

/**
 * For every k from 0 to `most`, the logarithm of the probability that the steps spell the first k labels:
 * (batch, most + 1). It is the sum over alignments that end with a blank, `gap`, and over those that end with
 * the k-th label, `mark`; the paper's extended labels interleave the two.
 */
function likelihoodsOf({ blanks, marks, classes, isStep }: Lattice): NDArray {
  // There is no label before the first, so no step can emit it.
  const emissions = pad(marks, [[0, 0], [0, 0], [1, 0]], { value: -Infinity }); // prettier-ignore
  const own = pad(classes, beforeEach, { value: -1 });
  const isRepeated = equal(own, shift(own, -1));
  const impossible = placedBeside([blanks], () =>
    fill<NDArray>(extentsOf(classes), -Infinity, blanks.dtype),
  );
  // Before the first step, the empty prefix has probability 1.
  const begin = [0, -Infinity].map((value) => pad(impossible, beforeEach, { value }));
  const rows = [blanks, emissions, ...(isStep === null ? [] : [isStep])];
  const [, [gap, mark]] = foreach(
    ([blank, emission, ...isStep]: NDArray[], [gap, mark]: NDArray[]) => {
      const either = logaddexp(gap, mark);
      // A label may follow directly; equal adjacent labels need a blank between them.
      const onward = shift(where(isRepeated, gap, either), 1);
      const after = [add(either, blank), add(logaddexp(mark, onward), emission)];
      if (isStep.length === 0) return [[], after];
      return [[], [gap, mark].map((state, k) => where(isStep[0], after[k], state))];
    },
    rows,
    begin,
  );
  return logaddexp(gap, mark);
}

const beforeEach = [[0, 0], [1, 0]]; // prettier-ignore

/** Mask of the positions within each length: (batch, extent). */
function isWithin(lengths: NDArray, extent: Dim): NDArray {
  const positions = placedBeside([lengths], () => iota<NDArray>(extent, { dtype: 'int32' }));
  return less(positions, expandDims(lengths, 1));
}

/** Labels as indices of classes, with blanks in place of padding. */
function classesOf(labels: NDArray, isLabel: NDArray | null, blank: number): NDArray {
  const whole = cast(labels, 'int32');
  const isClass = logicalAnd(greaterEqual(whole, 0), notEqual(whole, blank));
  const classes = orNowhere(isClass, whole);
  return isLabel === null ? classes : where(isLabel, classes, blank);
}

/**
 * Invalid labels that only a running graph sees are refused by the operators that take indices. A negative
 * index would count from the end, so it is replaced by one out of range.
 */
function orNowhere(isPosition: NDArray, positions: NDArray): NDArray {
  return where(isPosition, positions, -(2 ** 31));
}
