import * as attr from '../../base/attributes/attribute.js';
import { elementCount } from '../../base/dim/index.js';
import { type DType, isFloat } from '../../base/dtype.js';
import type { Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import { fastTwoSum, twoSum } from '../../loop/language/compensation.js';
import type { Expr, Scalar } from '../../loop/language/nodes.js';
import { unravel } from '../contraction/unravel.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  type Sample,
  tensor,
} from '../declare/declare.js';
import { normalizeAxis } from '../declare/infer.js';
import { computeScalar } from '../declare/lowering.js';
import { wideDType } from '../loops.js';
import { flatten, reshape } from '../movement/reshape.js';
import type { AssociativeScan, Scan } from '../declare/scan.js';
import { scanLowering } from './scans/scan.js';
import { totalDType } from './sum.js';
import type { OnnxValue, OnnxWriter } from '../declare/onnx.js';

/** Cumulative reductions. */

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

interface CumulativeAttributes {
  readonly axis: number | null;
  readonly exclusive: boolean;
  readonly reverse: boolean;
}

/** States of floats whose parts are combined, for elements of one dtype. */
export interface CumulativeParts {
  initial(scalar: Scalar): readonly Expr[];
  dtypes(dtype: DType): readonly DType[];
  element(x: Expr): readonly Expr[];
  combine(a: readonly Expr[], b: readonly Expr[]): readonly Expr[];
  finish(state: readonly Expr[]): Expr;
}

interface CumulativeSpec {
  readonly name: string;
  /** Value before the first element. */
  readonly neutral: number;
  combine(a: Expr, b: Expr): Expr;
  /** True for sums, which are compensated for rounding. Default false. */
  readonly isSum?: boolean;
  /** States of floats whose parts are combined. */
  readonly parts: CumulativeParts;
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
      const { dtype, shape } = context.result;
      const { axis, exclusive, reverse } = context.attributes;
      const scalar = computeScalar(dtype);
      const elementAt = (index: readonly Expr[]): Expr =>
        e.cast(scalar, x.at(axis === null ? unravel(index[0], x.shape) : index));
      const along = {
        axis: axis === null ? 0 : normalizeAxis(name, axis, shape.length),
        reverse,
        exclusive,
      };
      const plain = {
        initial: [e.constant(scalar, neutral)],
        dtypes: [wideDType(dtype)],
        finish: ([total]: readonly Expr[]) => [total],
      };
      const { parts } = spec;
      const associative: AssociativeScan = isFloat(dtype)
        ? {
            initial: parts.initial(scalar),
            dtypes: parts.dtypes(wideDType(dtype)),
            element: (index) => parts.element(elementAt(index)),
            combine: (a, b) => parts.combine(a, b),
            finish: (state) => [parts.finish(state)],
          }
        : {
            ...plain,
            element: (index) => [elementAt(index)],
            combine: ([a], [b]) => [combine(a, b)],
          };
      if (spec.isSum === true && isFloat(dtype)) {
        return { ...along, ...runningSum(dtype, elementAt), associative };
      }
      const step: Scan['step'] = ([total], index) => [combine(total, elementAt(index))];
      return { ...along, ...plain, step, associative };
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

/** Sums with what their additions have rounded away. */
const sumParts: CumulativeParts = {
  initial: (scalar) => [e.constant(scalar, 0), e.constant(scalar, 0)],
  dtypes: (dtype) => [dtype, dtype],
  element: (x) => [x, e.constant(x.type.scalar, 0, x.type.lanes)],
  combine: ([a, aError], [b, bError]) => {
    const { sum, error } = twoSum(a, b);
    return [sum, e.add(error, e.add(aError, bError))];
  },
  finish: ([sum, error]) => e.add(sum, error),
};

/**
 * Cumulative sum along an axis. Integers and bool are summed as int64. Without an axis the result is the
 * cumulative sum of all elements in row-major order, of rank 1.
 */
export const cumsum: OperatorFunction<Cumulative> = cumulative({
  name: 'cumsum',
  neutral: 0,
  combine: e.add,
  isSum: true,
  parts: sumParts,
  onnx: (onnx, x, { axis, exclusive, reverse }) =>
    onnx.node('CumSum', [x, onnx.scalar('int64', axis)], {
      exclusive: Number(exclusive),
      reverse: Number(reverse),
    }),
  gradient: (g, _x, along, { exclusive, reverse }) =>
    cumsum(g, along, { exclusive, reverse: !reverse }),
});
