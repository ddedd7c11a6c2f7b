import * as attr from '../../base/attributes/attribute.js';
import { elementCount } from '../../base/dim/index.js';
import { type DType, isFloat } from '../../base/dtype.js';
import { equalSizes, type Refusal, words } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import { fastTwoSum } from '../../loop/language/compensation.js';
import type { Expr } from '../../loop/language/nodes.js';
import { unravel } from '../contraction/unravel.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  type Sample,
  tensor,
} from '../declare/declare.js';
import { mul } from '../elementwise/arithmetic.js';
import { normalizeAxis } from '../declare/infer.js';
import { computeScalar } from '../declare/lowering.js';
import { wideDType } from '../loops.js';
import { flatten, reshape, reshaped } from '../movement/reshape.js';
import { shift } from '../movement/shift.js';
import type { Scan } from '../declare/scan.js';
import { scanLowering } from './scan.js';
import { totalDType } from './sum.js';
import type { OnnxValue, OnnxWriter } from '../declare/onnx.js';

/** Cumulative reductions, and the linear recurrence of their gradients. */

export interface CumulativeOptions {
  /** Exclude the element itself: the first result is 0 for sums, 1 for products. Default false. */
  readonly exclusive?: boolean;
  /** Iterate from the end. Default false. */
  readonly reverse?: boolean;
}

/** `f(x, axis?, { exclusive, reverse })`; without an axis (or with null) over the flattened `x`. */
export type Cumulative = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  axis?: number | null,
  options?: CumulativeOptions,
) => T;

const cumulativeSamples: readonly Sample[] = [
  { args: [tensor(['n', 'm']), 1] },
  { args: [tensor(['n', 2, 'm']), 0, { reverse: true }] },
  { args: [tensor(['n', 'm']), -1, { exclusive: true }] },
  { args: [tensor(['n', 2]), 0, { exclusive: true, reverse: true }] },
  { args: [tensor(['n', 2])] },
  { args: [tensor(['n', 3], { dtype: 'int32', low: -3, high: 3 }), 0] },
];

interface RecurrenceAttributes {
  readonly axis: number;
  readonly reverse: boolean;
}

interface CumulativeAttributes {
  readonly axis: number | null;
  readonly exclusive: boolean;
  readonly reverse: boolean;
}

interface CumulativeSpec {
  readonly name: string;
  /** Value before the first element. */
  readonly neutral: number;
  combine(a: Expr, b: Expr): Expr;
  /** True for sums, which are compensated for rounding. Default false. */
  readonly isSum?: boolean;
  /** The gradient of `x`, whose axis is `along`; `x` and `g` are flat where the result is. */
  gradient<T extends Tensor>(g: T, x: T, along: number, options: Required<CumulativeOptions>): T;
  /** Cumulative reduction of `x`, of the result's dtype, along an axis in ONNX. */
  onnx(
    onnx: OnnxWriter,
    x: OnnxValue,
    along: { readonly axis: number; readonly shape: Shape } & Required<CumulativeOptions>,
  ): OnnxValue;
  /** In addition to the common ones. */
  readonly samples?: readonly Sample[];
}

/** Declares a cumulative reduction. */
export function cumulative(spec: CumulativeSpec): OperatorFunction<Cumulative> {
  const { name, neutral, combine } = spec;
  return operator({
    name,
    options: { at: 2, names: ['exclusive', 'reverse'] },
    family: 'reduction',
    attributes: { axis: attr.optional(attr.int), exclusive: attr.bool, reverse: attr.bool },
    operands: 'keep',
    call: (x, axis, options) => {
      const { exclusive = false, reverse = false } = options ?? {};
      return { inputs: [x], attributes: { axis: axis ?? null, exclusive, reverse } };
    },
    infer: ({ inputs: [x], attributes: { axis } }) => {
      if (axis !== null) normalizeAxis(name, axis, x.shape.length);
      return [
        { dtype: totalDType(x.dtype), shape: axis === null ? [elementCount(x.shape)] : x.shape },
      ];
    },
    gradient: ({ inputs: [x], grads: [g], attributes: { axis, exclusive, reverse } }) => {
      const flat = axis === null ? flatten(x) : x;
      const grad = spec.gradient(g!, flat, axis ?? 0, { exclusive, reverse });
      return [axis === null ? reshape(grad, x.type.shape) : grad];
    },
    lowering: scanLowering<CumulativeAttributes>((context) => {
      const [x] = context.inputs;
      const [{ dtype, shape }] = context.outputs;
      const { axis, exclusive, reverse } = context.attributes;
      const scalar = computeScalar(dtype);
      const elementAt = (index: readonly Expr[]): Expr =>
        e.cast(scalar, x.at(axis === null ? unravel(index[0], x.shape) : index));
      const along = {
        axis: axis === null ? 0 : normalizeAxis(name, axis, shape.length),
        reverse,
        exclusive,
      };
      if (spec.isSum === true && isFloat(dtype)) {
        return { ...along, ...runningSum(dtype, elementAt) };
      }
      return {
        ...along,
        initial: [e.constant(scalar, neutral)],
        dtypes: [wideDType(dtype)],
        step: ([total], index) => [combine(total, elementAt(index))],
        finish: ([total]) => [total],
      };
    }),
    onnx: ({ onnx, inputs, outputTypes: [{ dtype, shape }], attributes }) => {
      const { axis, ...options } = attributes;
      const x = onnx.cast(inputs[0], dtype);
      const flat = axis === null ? onnx.node('Reshape', [x, onnx.ints([-1])]) : x;
      const along = axis === null ? 0 : normalizeAxis(name, axis, shape.length);
      return spec.onnx(onnx, flat, { axis: along, shape, ...options });
    },
    samples: [...cumulativeSamples, ...(spec.samples ?? [])],
  });
}

/**
 * A compensated running sum of floats: a total, and the sum of recent terms. The rounding error of updating
 * the total becomes the first recent term.
 */
function runningSum(
  dtype: DType,
  elementAt: (index: readonly Expr[]) => Expr,
): Pick<Scan, 'initial' | 'dtypes' | 'step' | 'finish' | 'renew'> {
  const nothing = e.constant(computeScalar(dtype), 0);
  return {
    initial: [nothing, nothing],
    dtypes: [wideDType(dtype), wideDType(dtype)],
    step: ([total, rest], index) => [total, e.add(rest, elementAt(index))],
    finish: ([total, rest]) => [e.add(total, rest)],
    renew: ([total, rest]) => {
      const { sum, error } = fastTwoSum(total, rest);
      return [sum, error];
    },
  };
}

/**
 * Cumulative sum along an axis. Integers and bool are summed as int64. Without an axis the result is the
 * cumulative sum of all elements in row-major order, of rank 1.
 */
export const cumsum: OperatorFunction<Cumulative> = cumulative({
  name: 'cumsum',
  neutral: 0,
  combine: e.add,
  isSum: true,
  onnx: (onnx, x, { axis, exclusive, reverse }) =>
    onnx.node('CumSum', [x, onnx.scalar('int64', axis)], {
      exclusive: Number(exclusive),
      reverse: Number(reverse),
    }),
  gradient: (g, _x, along, { exclusive, reverse }) =>
    cumsum(g, along, { exclusive, reverse: !reverse }),
});

/**
 * @internal The linear recurrence `y[i] = a[i] * y[i - 1] + b[i]` along an axis, with `y[0] = b[0]`: discounted
 * sums, exponential averages, state spaces. `a` and `b` have one shape. With `reverse` it runs from the
 * end. Of bool the product is `and`, the sum `or`.
 */
export const recurrence: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    a: Input<T>,
    b: Input<T>,
    axis?: number,
    options?: { readonly reverse?: boolean },
  ) => T
> = operator({
  name: 'recurrence',
  options: { at: 3, names: ['reverse'] },
  family: 'reduction',
  attributes: { axis: attr.int, reverse: attr.bool },
  method: false,
  call: (a, b, axis = -1, options) => ({
    inputs: [a, b],
    attributes: { axis, reverse: options?.reverse ?? false },
  }),
  infer: ({ inputs: [a, b], attributes: { axis }, require }) => {
    normalizeAxis('recurrence', axis, b.shape.length);
    const refusal = (): Refusal => ({
      op: 'recurrence',
      problem: words`factors and terms have different shapes`,
      expected: words`${b.shape}`,
      actual: words`${a.shape}`,
    });
    require(a.shape.length === b.shape.length, refusal);
    a.shape.forEach((dim, k) => require(equalSizes(dim, b.shape[k]), refusal));
    return [b];
  },
  gradient: ({ inputs: [a], outputs: [y], grads: [g], attributes: { axis, reverse } }) => {
    const back = reverse ? 1 : -1;
    const behind = recurrence(shift(a, back, axis), g!, axis, { reverse: !reverse });
    // Multiplied before the shift: an element without predecessor must not meet an infinity as a zero.
    const factors = shift(mul(shift(behind, back, axis), y), -back, axis);
    return [reshaped(factors, a.type.shape), behind];
  },
  lowering: scanLowering<RecurrenceAttributes>((context) => {
    const [a, b] = context.inputs;
    const [{ dtype, shape }] = context.outputs;
    return {
      axis: normalizeAxis('recurrence', context.attributes.axis, shape.length),
      reverse: context.attributes.reverse,
      exclusive: false,
      initial: [e.constant(computeScalar(dtype), 0)],
      dtypes: [wideDType(dtype)],
      // The first factor has no predecessor, and must not turn an infinity into NaN.
      step: ([y], index, isFirst) => {
        const term = b.at(index);
        const next =
          dtype === 'bool' ? e.or(e.and(a.at(index), y), term) : e.add(e.mul(a.at(index), y), term);
        return [e.select(isFirst, term, next)];
      },
      finish: ([y]) => [y],
    };
  }),
  onnx: ({ onnx, inputs: [a, b], outputTypes: [{ shape, dtype }], attributes }) => {
    const axis = normalizeAxis('recurrence', attributes.axis, shape.length);
    const along = { axis, reverse: attributes.reverse, shape };
    const [no, yes] = [onnx.scalar('bool', 0), onnx.scalar('bool', 1)];
    const initial = [onnx.scalar(dtype, 0), no];
    return onnx.scan(along, initial, [a, b], ([y, isBehind], [factor, term]) => {
      const [product, sum] = dtype === 'bool' ? ['And', 'Or'] : ['Mul', 'Add'];
      const next = onnx.node(sum, [onnx.node(product, [factor, y]), term]);
      const value = onnx.node('Where', [isBehind, next, term]);
      return { states: [value, onnx.node('Or', [isBehind, yes])], kept: value };
    });
  },
  samples: [
    { args: [tensor(['n', 'm']), tensor(['n', 'm'])] },
    { args: [tensor(['n', 2]), tensor(['n', 2]), 0, { reverse: true }] },
    { args: [tensor(['n'], { dtype: 'int32' }), tensor(['n'], { dtype: 'int32' }), 0] },
    { args: [tensor(['n'], { dtype: 'bool' }), tensor(['n'], { dtype: 'bool' }), 0] },
  ],
});
