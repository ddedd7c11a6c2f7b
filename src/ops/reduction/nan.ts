import type { Tensor } from '../../ir/types.js';
import { type OperatorFunction, type Sample, tensor } from '../declare/declare.js';
import { div } from '../elementwise/arithmetic.js';
import { isNaN } from '../elementwise/classification.js';
import { cast } from '../elementwise/conversion.js';
import { logicalNot } from '../elementwise/logic.js';
import { where } from '../elementwise/selection.js';
import { reshape } from '../movement/reshape.js';
import type { Reduction } from '../signatures.js';
import { reduction, reductionSamples, undefinedWhenEmptySamples } from './reduce.js';
import { sum, totalDType, unreduce } from './sum.js';

/** Sums and means that leave out elements that are NaN. */

/** `x` with 0 for NaN. */
function withoutNaN<T extends Tensor>(x: T): T {
  return where(isNaN(x), 0, x);
}

const withNaN: readonly Sample[] = [
  { args: [tensor(['n', 'm'], { values: [NaN, 1, -2, 0.5] }), 1], differentiable: false },
];

/**
 * The sum over axes of the elements that are not NaN, all axes by default. Integers and bool are summed as
 * int64; without such an element the sum is 0.
 */
export const nansum: OperatorFunction<Reduction> = reduction({
  name: 'nansum',
  result: totalDType,
  gradient: ({ g, x, axes }) => where(isNaN(x), 0, unreduce(g, x.type.shape, axes)),
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], attributes: { axes, keepdims } }) => [
      sum(withoutNaN(x), axes, { keepdims }),
    ],
  },
  samples: [...reductionSamples, ...withNaN],
});

/** The mean over axes of the elements that are not NaN, all axes by default. Without such an element, NaN. */
export const nanmean: OperatorFunction<Reduction> = reduction({
  name: 'nanmean',
  operands: 'float',
  gradient: ({ g, x, axes }) => {
    const { shape } = x.type;
    // `g` has the reduced axes if they are kept.
    const share = div(g, reshape(countOver(x, axes, false), g.type.shape));
    return where(isNaN(x), 0, unreduce(share, shape, axes));
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], attributes: { axes, keepdims } }) => [
      div(sum(withoutNaN(x), axes, { keepdims }), countOver(x, axes, keepdims)),
    ],
  },
  samples: [
    ...undefinedWhenEmptySamples,
    ...withNaN,
    { args: [tensor(['n', 3]), 1, { keepdims: true }] },
  ],
});

/** Number of elements that are not NaN, in the dtype of `x`. */
function countOver<T extends Tensor>(x: T, axes: readonly number[] | null, keepdims: boolean): T {
  return sum(cast(logicalNot(isNaN(x)), x.type.dtype), axes, { keepdims });
}
