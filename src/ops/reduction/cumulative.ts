import * as attr from '../../base/attribute.js';
import { sameShape, sizeOf } from '../../base/dim.js';
import { ShapeError } from '../../base/errors.js';
import type { Tensor, TensorType } from '../../ir/types.js';
import * as e from '../../loop/build.js';
import type { Expr } from '../../loop/nodes.js';
import { unravel } from '../contraction/unravel.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  type Sample,
  tensor,
} from '../declare.js';
import { mul } from '../elementwise/arithmetic.js';
import { normalizeAxis, shapeToString } from '../infer.js';
import { computeScalar, type KernelLowering } from '../lowering.js';
import { wideDType } from '../loops.js';
import { reshape } from '../movement/reshape.js';
import { shift } from '../movement/shift.js';
import { scanLoops } from './scan.js';
import { totalDType } from './sum.js';

/** Running sums and products, and the recurrence that both are cases of. */

export interface CumulativeOptions {
  /** Leave the element itself out: the first result is 0 for sums, 1 for products. Default false. */
  readonly exclusive?: boolean;
  /** From the end to the beginning. Default false. */
  readonly reverse?: boolean;
}

/** `f(x, axis?, { exclusive, reverse })`; without an axis (or with null) over the flattened `x`. */
export type Cumulative = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  axis?: number | null,
  options?: CumulativeOptions,
) => T;

const attributes = { axis: attr.optional(attr.int), exclusive: attr.bool, reverse: attr.bool };

interface CumulativeAttributes {
  readonly axis: number | null;
  readonly exclusive: boolean;
  readonly reverse: boolean;
}

const samples: readonly Sample[] = [
  { args: [tensor(['n', 'm']), 1] },
  { args: [tensor(['n', 2, 'm']), 0, { reverse: true }] },
  { args: [tensor(['n', 'm']), -1, { exclusive: true }] },
  { args: [tensor(['n', 2]), 0, { exclusive: true, reverse: true }] },
  { args: [tensor(['n', 2])] },
  { args: [tensor(['n', 3], { dtype: 'int32', low: -3, high: 3 }), 0] },
];

function call(
  x: Input<Tensor>,
  axis?: number | null,
  options?: CumulativeOptions,
): { inputs: readonly Input<Tensor>[]; attributes: CumulativeAttributes } {
  const { exclusive = false, reverse = false } = options ?? {};
  return { inputs: [x], attributes: { axis: axis ?? null, exclusive, reverse } };
}

function typeOf(op: string, x: TensorType, axis: number | null): TensorType {
  if (axis !== null) normalizeAxis(op, axis, x.shape.length);
  return { dtype: totalDType(x.dtype), shape: axis === null ? [sizeOf(x.shape)] : x.shape };
}

/** Folds with one operation from a neutral element. */
function folding(
  op: string,
  neutral: number,
  combine: (a: Expr, b: Expr) => Expr,
): KernelLowering<CumulativeAttributes> {
  return {
    kind: 'kernel',
    kernel: (context) => {
      const [x] = context.inputs;
      const [{ dtype, shape }] = context.outputs;
      const { axis, exclusive, reverse } = context.attributes;
      const scalar = computeScalar(dtype);
      const isFlat = axis === null;
      return scanLoops(context, {
        axis: isFlat ? 0 : normalizeAxis(op, axis, shape.length),
        reverse,
        exclusive,
        initial: [e.constant(scalar, neutral)],
        dtypes: [wideDType(dtype)],
        step: ([total], index) => [
          combine(total, e.cast(scalar, x.at(isFlat ? unravel(index[0], x.shape) : index))),
        ],
        finish: ([total]) => [total],
      });
    },
  };
}

/**
 * Running sums along an axis. Integers and bool add up as int64. Without an axis the result is the
 * running sum of all elements in row-major order, of rank 1.
 */
export const cumsum: OperatorFunction<Cumulative> = operator({
  name: 'cumsum',
  family: 'reduction',
  attributes,
  operands: 'keep',
  call,
  infer: ({ inputs: [x], attributes: { axis } }) => [typeOf('cumsum', x, axis)],
  gradient: ({ inputs: [x], grads: [g], attributes: { axis, exclusive, reverse } }) => [
    reshape(cumsum(g!, axis ?? 0, { exclusive, reverse: !reverse }), x.type.shape),
  ],
  lowering: folding('cumsum', 0, e.add),
  samples,
});

/**
 * Running products along an axis. Integers and bool multiply as int64. Without an axis the result is the
 * running product of all elements in row-major order, of rank 1.
 */
export const cumprod: OperatorFunction<Cumulative> = operator({
  name: 'cumprod',
  family: 'reduction',
  attributes,
  operands: 'keep',
  call,
  infer: ({ inputs: [x], attributes: { axis } }) => [typeOf('cumprod', x, axis)],
  gradient: ({ inputs: [x], grads: [g], attributes: { axis, exclusive, reverse } }) => {
    // With p the product before element i, and s what reaches it from behind, the gradient is p * s,
    // where s[i] = g[i] + x[i + 1] * s[i + 1]. Nothing is divided, so zeros do no harm.
    const along = axis ?? 0;
    const flat = axis === null ? reshape(x, [sizeOf(x.type.shape)]) : x;
    const back = reverse ? 1 : -1;
    const before = cumprod(flat, along, { exclusive: true, reverse });
    const arriving = exclusive ? shift(g!, back, along) : g!;
    const behind = recurrence(shift(flat, back, along), arriving, along, { reverse: !reverse });
    return [reshape(mul(before, behind), x.type.shape)];
  },
  lowering: folding('cumprod', 1, e.mul),
  samples: [
    ...samples,
    { args: [tensor([5], { values: [0.5, 0, 2, 0, -1], low: -1 }), 0] },
    { args: [tensor([5], { values: [0.5, 0, 2, 0, -1], low: -1 }), 0, { exclusive: true }] },
  ],
});

/**
 * The linear recurrence `y[i] = a[i] * y[i - 1] + b[i]` along an axis, with `y[0] = b[0]`: discounted
 * sums, exponential averages, state spaces. `a` and `b` have one shape. With `reverse` it runs from the
 * end.
 */
export const recurrence: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    a: Input<T>,
    b: Input<T>,
    axis?: number,
    options?: { readonly reverse?: boolean },
  ) => T,
  false
> = operator({
  name: 'recurrence',
  family: 'reduction',
  attributes: { axis: attr.int, reverse: attr.bool },
  method: false,
  call: (a, b, axis = -1, options) => ({
    inputs: [a, b],
    attributes: { axis, reverse: options?.reverse ?? false },
  }),
  infer: ({ inputs: [a, b], attributes: { axis } }) => {
    normalizeAxis('recurrence', axis, b.shape.length);
    if (!sameShape(a.shape, b.shape)) {
      throw new ShapeError('factors and terms have different shapes', {
        op: 'recurrence',
        expected: shapeToString(b.shape),
        actual: shapeToString(a.shape),
      });
    }
    return [b];
  },
  gradient: ({ inputs: [a], outputs: [y], grads: [g], attributes: { axis, reverse } }) => {
    const back = reverse ? 1 : -1;
    const behind = recurrence(shift(a, back, axis), g!, axis, { reverse: !reverse });
    return [mul(behind, shift(y, -back, axis)), behind];
  },
  lowering: {
    kind: 'kernel',
    kernel: (context) => {
      const [a, b] = context.inputs;
      const [{ dtype, shape }] = context.outputs;
      return scanLoops(context, {
        axis: normalizeAxis('recurrence', context.attributes.axis, shape.length),
        reverse: context.attributes.reverse,
        exclusive: false,
        initial: [e.constant(computeScalar(dtype), 0)],
        dtypes: [wideDType(dtype)],
        // The first factor meets no predecessor, and must not turn an infinity into NaN.
        step: ([y], index, isFirst) => {
          const term = b.at(index);
          return [e.select(isFirst, term, e.add(e.mul(a.at(index), y), term))];
        },
        finish: ([y]) => [y],
      });
    },
  },
  samples: [
    { args: [tensor(['n', 'm']), tensor(['n', 'm'])] },
    { args: [tensor(['n', 2]), tensor(['n', 2]), 0, { reverse: true }] },
    { args: [tensor(['n'], { dtype: 'int32' }), tensor(['n'], { dtype: 'int32' }), 0] },
  ],
});
