import * as attr from '../../base/attributes/attribute.js';
import type { Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { div, mul, square, sub } from '../elementwise/arithmetic.js';
import { greater } from '../elementwise/comparison.js';
import { maximum } from '../elementwise/extremum.js';
import { sqrt } from '../elementwise/root.js';
import { where } from '../elementwise/selection.js';
import { normalizeAxes } from '../declare/infer.js';
import { sum } from '../reduction/sum.js';
import { axisList, type Axes } from '../signatures.js';

export interface L2NormalizeOptions {
  /** Lower bound of the divisor. Default 1e-12. */
  readonly epsilon?: number;
}

const keepdims = { keepdims: true };

/**
 * `x / max(length, epsilon)`, where the length is the Euclidean norm over the axes, the last by default;
 * null means all. Zero stays zero. Integers become float32.
 */
export const l2Normalize: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, axis?: Axes, options?: L2NormalizeOptions) => T
> = operator({
  name: 'l2Normalize',
  options: { at: 2, names: ['epsilon'] },
  family: 'normalization',
  attributes: { axes: attr.optional(attr.ints), epsilon: attr.number },
  operands: 'float',
  call: (x, axis = -1, options = {}) => ({
    inputs: [x],
    attributes: { axes: axisList(axis), epsilon: options.epsilon ?? 1e-12 },
  }),
  infer: ({ inputs: [x], attributes: { axes } }) => {
    normalizeAxes('l2Normalize', axes, x.shape.length);
    return [x];
  },
  // With y the result: (g - y sum(g y)) / length; where epsilon is the divisor, that is constant.
  gradient: ({ inputs: [x], grads: [g], attributes: { axes, epsilon } }) => {
    const { length, isMeasured } = lengthOf(x, axes, epsilon);
    const y = div(x, length);
    const along = mul(y, sum(mul(g!, y), axes, keepdims));
    return [div(sub(g!, where(isMeasured, along, 0)), length)];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], attributes: { axes, epsilon } }) => [
      div(x, lengthOf(x, axes, epsilon).length),
    ],
  },
  samples: [
    { args: [tensor(['n', 3], { low: 0.2 })] },
    { args: [tensor(['n', 2, 'm'], { low: 0.2 }), [0, 2]] },
    { args: [tensor(['n']), null, { epsilon: 100 }] },
  ],
});

interface Length<T> {
  readonly length: T;
  /** True where the divisor is the length, not epsilon. */
  readonly isMeasured: T;
}

/** The bound is applied under the root, where the gradient of the root is finite. */
function lengthOf<T extends Tensor>(
  x: T,
  axes: readonly number[] | null,
  epsilon: number,
): Length<T> {
  const squares = sum(square(x), axes, keepdims);
  const least = epsilon * epsilon;
  return { length: sqrt(maximum(squares, least)), isMeasured: greater(squares, least) };
}
