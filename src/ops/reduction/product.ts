import { type Dim, elementCount } from '../../base/dim/index.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import { type OperatorFunction, tensor } from '../declare/declare.js';
import { mul } from '../elementwise/arithmetic.js';
import { normalizeAxes } from '../declare/infer.js';
import { floatDTypes, integerDTypes } from '../declare/law.js';
import { computeScalar } from '../declare/lowering.js';
import { reshape } from '../movement/reshape.js';
import { shift } from '../movement/shift.js';
import { transpose } from '../movement/transpose.js';
import type { Reduction } from '../signatures.js';
import { type Cumulative, cumulative } from './cumulative.js';
import { overOnes } from './laws.js';
import { reduction, reductionSamples, type ReductionAttributes } from './reduce.js';
import { recurrence } from './scans/recurrence.js';
import { scaledFactor, scaledProduct, scaledValue } from './scans/scaled.js';
import { totalDType, unreduce } from './sum.js';

/** The product over axes, all by default. Integers and bool are multiplied as int64; of no elements 1. */
export const prod: OperatorFunction<Reduction> = reduction({
  name: 'prod',
  result: totalDType,
  gradient: ({ g, x, axes }) => mul(unreduce(g, x.type.shape, axes), productOfOthers(x, axes)),
  lowering: {
    neutral: () => 1,
    initial: ({ outputDTypes: [dtype] }) => [e.constant(computeScalar(dtype), 1)],
    step: ([total], element) => [e.mul(total, e.cast(total.type.scalar, element))],
    combine: ([a], [b]) => [e.mul(a, b)],
    finish: ([total]) => [total],
  },
  onnx: 'ReduceProd',
  simplify: [
    overOnes('prod', (x, axes) => prod(x, axes), [...floatDTypes, 'bool', ...integerDTypes], {
      words: 'prod(x) = x, as int64 of integers and bool',
    }),
  ],
  samples: [
    ...reductionSamples,
    { args: [tensor([2, 3], { values: [2, 0, -1, 0, 3, 0] }), 1] },
    { args: [tensor([2, 2], { values: [2, 0, -1, 0.5] })] },
  ],
});

/**
 * For every element the product of all others that are reduced to the same result: those before it times
 * those after it. Without a division, zeros do no harm.
 */
function productOfOthers<T extends Tensor>(x: T, axes: ReductionAttributes['axes']): T {
  const { shape } = x.type;
  const folded = normalizeAxes('prod', axes, shape.length);
  const kept = shape.flatMap((_, axis) => (folded.includes(axis) ? [] : [axis]));
  const order = [...kept, ...folded];
  const moved = order.map((axis): Dim => shape[axis]);
  const rows = reshape(transpose(x, order), [
    ...moved.slice(0, kept.length),
    elementCount(moved.slice(kept.length)),
  ]);
  const before = cumprod(rows, -1, { exclusive: true });
  const behind = cumprod(rows, -1, { exclusive: true, reverse: true });
  const inverse: number[] = [];
  order.forEach((axis, place) => (inverse[axis] = place));
  return transpose(reshape(mul(before, behind), moved), inverse);
}

/**
 * Cumulative product along an axis. Integers and bool are multiplied as int64. Without an axis the result is
 * the cumulative product of all elements in row-major order, of rank 1.
 */
export const cumprod: OperatorFunction<Cumulative> = cumulative({
  name: 'cumprod',
  neutral: 1,
  combine: e.mul,
  // The product of a part may leave the range of floats where that of the row does not.
  parts: {
    initial: (scalar) => [e.constant(scalar, 1), e.i32(0)],
    dtypes: (dtype) => [dtype, 'int32'],
    element: scaledFactor,
    combine: ([a, aExponent], [b, bExponent]) => scaledProduct([a, aExponent], [b, bExponent]),
    finish: ([significand, exponent]) => scaledValue([significand, exponent]),
  },
  onnx: (onnx, x, { exclusive, ...along }) =>
    onnx.scan(along, [onnx.scalar(x.dtype, 1)], [x], ([before], [element]) => {
      const after = onnx.node('Mul', [before, element]);
      return { states: [after], kept: exclusive ? before : after };
    }),
  gradient: (g, x, along, { exclusive, reverse }) => {
    // With p the product before element i, and s the accumulated gradient from behind, the gradient is p * s,
    // where s[i] = g[i] + x[i + 1] * s[i + 1]. Nothing is divided here either.
    const back = reverse ? 1 : -1;
    const before = cumprod(x, along, { exclusive: true, reverse });
    if (!exclusive) {
      return mul(before, recurrence(shift(x, back, along), g, along, { reverse: !reverse }));
    }
    // The last element, possibly infinite, receives nothing: it is shifted out rather than multiplied by
    // zero.
    const behind = recurrence(x, g, along, { reverse: !reverse });
    return shift(mul(shift(before, -back, along), behind), back, along);
  },
  samples: [
    { args: [tensor([5], { values: [0.5, 0, 2, 0, -1] }), 0] },
    { args: [tensor([5], { values: [0.5, 0, 2, 0, -1] }), 0, { exclusive: true }] },
  ],
});
