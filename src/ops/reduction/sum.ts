import * as attr from '../../base/attributes/attribute.js';
import { type Dim, isStatic, sameDim, sameShape } from '../../base/dim/index.js';
import { type DType, isFloat } from '../../base/dtype.js';
import { equalSizes, type Refusal, words } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { checkShape, normalizeAxes, reducedShape } from '../declare/infer.js';
import { callOf, example, integerDTypes, numericDTypes } from '../declare/law.js';
import { computeScalar, elementwise } from '../declare/lowering.js';
import { reshape } from '../movement/reshape.js';
import { type Reduction, type ShapeArgument, shapeList } from '../signatures.js';
import { overOnes } from './laws.js';
import { reduction } from './reduce.js';

/*
 * Summing and broadcasting are each other's adjoint, so they are declared together.
 */

/** The dtype in which elements are summed and multiplied: int64 for integers and bool. */
export function totalDType(dtype: DType): DType {
  return isFloat(dtype) ? dtype : 'int64';
}

/**
 * The sum over axes, all by default. Integers and bool are summed as int64; an empty sum is 0. `sum(x, axis?,
 * { keepdims })`; the result lacks the axes, or has them with size 1.
 */
export const sum: OperatorFunction<Reduction> = reduction({
  name: 'sum',
  result: totalDType,
  isLinear: true,
  gradient: ({ g, x, axes }) => unreduce(g, x.type.shape, axes),
  lowering: {
    neutral: () => 0,
    initial: ({ outputDTypes: [dtype] }) => [e.constant(computeScalar(dtype), 0)],
    step: ([total], element) => [e.add(total, e.cast(total.type.scalar, element))],
    combine: ([a], [b]) => [e.add(a, b)],
    finish: ([total]) => [total],
  },
  onnx: 'ReduceSum',
  simplify: [
    overOnes('sum', (x, axes) => sum(x, axes), ['bool', ...integerDTypes], {
      words: 'sum(x) = cast(x, int64) of integers and bool; of floats 0 + -0 is 0',
      accepts: (dtype) => !isFloat(dtype),
    }),
  ],
});

/**
 * `x` broadcast to a shape: extents of 1 repeat and missing leading axes are added, as in NumPy. A
 * `ShapeError` where another extent would have to change. The shape may be an integer array.
 */
export const broadcastTo: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, shape: ShapeArgument) => T
> = operator({
  name: 'broadcastTo',
  family: 'movement',
  attributes: { shape: attr.dims },
  operands: 'keep',
  call: (x, shape) => ({ inputs: [x], attributes: { shape: shapeList(shape) } }),
  infer: ({ inputs: [x], attributes: { shape }, require }) => {
    checkShape('broadcastTo', shape, require);
    const lead = shape.length - x.shape.length;
    const refusal = (): Refusal => doesNotBroadcast(x.shape, shape);
    require(lead >= 0, refusal);
    const stretched = shape.map((dim, axis): Dim => {
      const extent = x.shape[axis - lead] ?? 1;
      if (extent === 1) return dim;
      // A symbolic extent that may turn out to be 1 needs `stretchTo`.
      require(isStatic(extent) ? equalSizes(extent, dim) : sameDim(extent, dim), refusal);
      return extent;
    });
    return [{ dtype: x.dtype, shape: stretched }];
  },
  // Symbolic sizes may turn out to be 1.
  meetings: ([x], { shape }) =>
    x.flatMap((extent, axis) => {
      const size = shape[axis + shape.length - x.length];
      if (size === undefined || isStatic(extent)) return [];
      const refusal = (): Refusal => doesNotBroadcast(x, shape);
      return [{ places: [{ operand: 0, axis }], broadcasts: true, size, refusal }];
    }),
  gradient: ({ inputs: [x], grads: [g] }) => [sumTo(g!, x.type.shape)],
  lowering: elementwise(([x]) => x),
  batch: {
    isLinear: true,
    rows: ({ inputs: [x], outputTypes: [{ shape }], length }) => {
      const row = x.type.shape.slice(1);
      const ones = shape.slice(row.length).map(() => 1);
      return [broadcastTo(reshape(x, [length, ...ones, ...row]), [length, ...shape])];
    },
  },
  simplify: [
    {
      name: 'own-shape',
      law: 'broadcast(x, shape(x)) = x',
      cases: [example([tensor(['n', 3])], (x) => broadcastTo(x, x.type.shape), numericDTypes)],
      apply: ({ inputs: [x], type }) => (sameShape(x.type.shape, type.shape) ? x : null),
    },
    {
      name: 'broadcast-broadcast',
      law: 'broadcast(broadcast(x, s), t) = broadcast(x, t)',
      cases: [example([tensor([3])], (x) => broadcastTo(broadcastTo(x, [1, 3]), [2, 3]))],
      apply: ({ inputs: [y], type }) => {
        const inner = callOf(y, broadcastTo);
        return inner && broadcastTo(inner.inputs[0], type.shape);
      },
    },
  ],
  samples: [
    { args: [tensor([1, 3]), [2, 3]] },
    { args: [tensor([3]), [2, 0, 3]] },
    { args: [tensor([]), [2]] },
  ],
});

function doesNotBroadcast(from: Shape, to: Shape): Refusal {
  return {
    op: 'broadcastTo',
    problem: words`the array does not broadcast to the shape`,
    expected: words`extents of 1, or those of ${to}, counted from the last axis`,
    actual: words`${from}`,
  };
}

/** The adjoint of broadcasting: `x` summed over the axes that `shape` broadcasts or lacks, rounded once. */
export function sumTo<T extends Tensor>(x: T, shape: Shape): T {
  const from = x.type.shape;
  const lead = from.length - shape.length;
  const folded = from.flatMap((dim, axis) => {
    const isStretched = axis >= lead && shape[axis - lead] === 1 && !sameDim(dim, 1);
    return axis < lead || isStretched ? [axis] : [];
  });
  if (folded.length === 0) return x;
  if (folded.length === lead) return sum(x, folded);
  const kept = sum(x, folded, { keepdims: true });
  return lead === 0 ? kept : reshape(kept, kept.type.shape.slice(lead));
}

/** Restores the reduced axes of a reduction of `shape` over `axes`, with size 1. */
export function restoreAxes<T extends Tensor>(
  reduced: T,
  shape: Shape,
  axes: readonly number[] | null,
): T {
  const kept = reducedShape(
    shape,
    normalizeAxes(reshape.declaration.name, axes, shape.length),
    true,
  );
  return kept.length === reduced.type.shape.length ? reduced : reshape(reduced, kept);
}

/** Broadcasts the result of a reduction of `shape` over `axes` along the reduced axes. */
export function unreduce<T extends Tensor>(
  reduced: T,
  shape: Shape,
  axes: readonly number[] | null,
): T {
  return broadcastTo(restoreAxes(reduced, shape, axes), shape);
}
