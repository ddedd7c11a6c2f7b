import * as attr from '../../base/attributes/attribute.js';
import { isStatic, elementCount } from '../../base/dim/index.js';
import type { Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  type Sample,
  tensor,
} from '../declare/declare.js';
import { div, mul, square, sub } from '../elementwise/arithmetic.js';
import { equal } from '../elementwise/comparison.js';
import { maximum } from '../elementwise/extremum.js';
import { sqrt } from '../elementwise/root.js';
import { where } from '../elementwise/selection.js';
import { normalizeAxes, reducedShape } from '../declare/infer.js';
import { computeScalar, type Decomposition } from '../declare/lowering.js';
import { dimLike } from '../movement/fill.js';
import { type Axes, axisList, type Reduction, type ReductionOptions } from '../signatures.js';
import { reduction, type ReductionAttributes, undefinedWhenEmptySamples } from './reduce.js';
import { unreduce } from './sum.js';

/** Means and deviations. Integers become float32; of no elements all are NaN, as in NumPy. */

/** The number of elements that are reduced to one result, in the dtype of `like`. */
function countOver<T extends Tensor>(
  like: T,
  shape: Shape,
  axes: ReductionAttributes['axes'],
): T | number {
  const size = elementCount(normalizeAxes('mean', axes, shape.length).map((axis) => shape[axis]));
  return isStatic(size) ? size : dimLike(like, size);
}

/** The arithmetic mean over axes, all by default. Integers become float32; of no elements NaN. */
export const mean: OperatorFunction<Reduction> = reduction({
  name: 'mean',
  operands: 'float',
  gradient: ({ g, x, axes }) =>
    unreduce(div(g, countOver(g, x.type.shape, axes)), x.type.shape, axes),
  lowering: {
    initial: ({ outputDTypes: [dtype] }) => [e.constant(computeScalar(dtype), 0)],
    step: ([total], element) => [e.add(total, e.cast(total.type.scalar, element))],
    combine: ([a], [b]) => [e.add(a, b)],
    finish: ([total], { count }) => [e.div(total, e.cast(total.type.scalar, count))],
  },
  onnx: 'ReduceMean',
  samples: undefinedWhenEmptySamples,
});

export interface SpreadOptions extends ReductionOptions {
  /** Subtracted from the number of elements before dividing: NumPy's `ddof`. Default 0. */
  readonly correction?: number;
}

/** `f(x, axis?, { correction, keepdims })`. */
export type Spread = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  axis?: Axes,
  options?: SpreadOptions,
) => T;

interface SpreadAttributes extends ReductionAttributes {
  readonly correction: number;
}

const samples: readonly Sample[] = [
  { args: [tensor(['n', 'm'])], least: { n: 1, m: 1 } },
  { args: [tensor(['n', 'm']), 1, { keepdims: true, correction: 1 }], least: { m: 2 } },
  { args: [tensor(['n', 3, 'm']), [0, -1]], least: { n: 2, m: 1 } },
  { args: [tensor(['n', 3], { dtype: 'int32', low: -9, high: 9 }), 0], least: { n: 2 } },
];

function spread(
  name: string,
  gradient: <T extends Tensor>(g: T, x: T, attributes: SpreadAttributes, result: T) => T,
  decompose: Decomposition<SpreadAttributes>['decompose'],
): OperatorFunction<Spread> {
  return operator({
    name,
    options: { at: 2, names: ['correction', 'keepdims'] },
    family: 'reduction',
    attributes: { axes: attr.optional(attr.ints), keepdims: attr.bool, correction: attr.number },
    operands: 'float',
    call: (x, axis, options) => ({
      inputs: [x],
      attributes: {
        axes: axisList(axis),
        keepdims: options?.keepdims ?? false,
        correction: options?.correction ?? 0,
      },
    }),
    infer: ({ inputs: [x], attributes: { axes, keepdims } }) => [
      {
        dtype: x.dtype,
        shape: reducedShape(x.shape, normalizeAxes(name, axes, x.shape.length), keepdims),
      },
    ],
    gradient: ({ inputs: [x], outputs, grads: [g], attributes }) => [
      gradient(g!, x, attributes, gradient.length > 3 ? outputs[0] : x),
    ],
    lowering: { kind: 'decompose', decompose },
    samples,
  });
}

/** The mean of squares as their sum over `max(count - correction, 0)`. */
function corrected<T extends Tensor>(
  meanOfSquares: T,
  shape: Shape,
  { axes, correction }: SpreadAttributes,
): T {
  if (correction === 0) return meanOfSquares;
  const count = countOver(meanOfSquares, shape, axes);
  return typeof count === 'number'
    ? mul(meanOfSquares, count / Math.max(count - correction, 0))
    : mul(meanOfSquares, div(count, maximum(sub(count, correction), 0)));
}

/** The gradient of `x` from that of its variance. */
function throughVariance<T extends Tensor>(g: T, x: T, attributes: SpreadAttributes): T {
  const { shape } = x.type;
  const { axes } = attributes;
  const scale = corrected(div(mul(g, 2), countOver(g, shape, axes)), shape, attributes);
  return mul(unreduce(scale, shape, axes), distances(x, axes));
}

/** Deviations from the mean. */
function distances<T extends Tensor>(x: T, axes: ReductionAttributes['axes']): T {
  return sub(x, mean(x, axes, { keepdims: true }));
}

/**
 * The variance over axes: the mean squared deviation, computed in two passes for accuracy with a large mean.
 * `correction: 1` gives the unbiased estimate.
 */
const variance: OperatorFunction<Spread> = spread(
  'var',
  throughVariance,
  ({ inputs: [x], attributes }) => {
    const { axes, keepdims } = attributes;
    const squares = mean(square(distances(x, axes)), axes, { keepdims });
    return [corrected(squares, x.type.shape, attributes)];
  },
);
export { variance as var };

/** The standard deviation over axes: the root of the variance. Where it is 0 its gradient is 0. */
export const std: OperatorFunction<Spread> = spread(
  'std',
  (g, x, attributes, result) => {
    const isZero = equal(result, 0);
    const slope = div(g, mul(where(isZero, 1, result), 2));
    return throughVariance(where(isZero, 0, slope), x, attributes);
  },
  ({ inputs: [x], attributes: { axes, keepdims, correction } }) => [
    sqrt(variance(x, axes, { keepdims, correction })),
  ],
);
