import * as attr from '../../base/attributes/attribute.js';
import { type Dim, elementCount, isStatic } from '../../base/dim/index.js';
import { promoteAll } from '../../base/dtype.js';
import { ArgumentError } from '../../base/errors.js';
import { equalSizes, type Refusal, words } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { maximum } from '../elementwise/extremum.js';
import { checkIndexDType, indexDType } from '../indexing/position.js';
import { take, takeAdjoint } from '../indexing/take.js';
import { normalizeAxis } from '../declare/infer.js';
import { flatten, reshape } from '../movement/reshape.js';
import { broadcastTo, sum } from '../reduction/sum.js';
import { writeRepeated } from './onnx.js';
import { countedPositions } from './positions.js';

/**
 * @internal Repeats every element of `x` along an axis as many times as `counts` says, an integer array of one count
 * for each, or of one for all; without an axis (or with null) the elements of the flattened `x`. The
 * implementation of `repeat` with an array of counts. Negative counts are an `ArgumentError` where they are
 * known, and mean 0 otherwise.
 */
export const repeatEach: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, counts: Input<T>, axis?: number | null) => T
> = operator({
  name: 'repeatEach',
  family: 'dynamic',
  attributes: { axis: attr.optional(attr.int) },
  method: false,
  operands: ([x, counts]) => [promoteAll([x]), indexDType(counts)],
  call: (x, counts, axis = null) => ({ inputs: [x, counts], attributes: { axis } }),
  infer: ({ inputs: [x, counts], attributes: { axis }, fresh, require }) => {
    const op = 'repeatEach';
    checkIndexDType(op, counts.dtype);
    const [length, at] = along(x.shape, axis);
    const isOne = counts.shape.every((dim) => dim === 1);
    require(isOne || (counts.shape.length === 1 && equalSizes(counts.shape[0], length)), () =>
      otherCounts(counts.shape, length));
    const total = fresh('total');
    return [{ dtype: x.dtype, shape: axis === null ? [total] : x.shape.with(at, total) }];
  },
  // One count of a symbolic number of counts is stretched.
  meetings: ([x, counts], { axis }) => {
    const [length] = along(x, axis);
    if (counts.length !== 1 || isStatic(counts[0])) return [];
    const refusal = (): Refusal => otherCounts(counts, length);
    return [{ places: [{ operand: 1, axis: 0 }], broadcasts: true, size: length, refusal }];
  },
  check: {
    operand: 1,
    accepts: () => ({ least: 0, most: null, except: null }),
    refusal: ({ element }) =>
      new ArgumentError('elements cannot repeat a negative number of times', {
        op: 'repeatEach',
        expected: 'counts of 0 or more',
        actual: String(element),
      }),
  },
  measure: ({ inputs: [x, counts], attributes: { axis } }) => [
    sum(maximum(countsFor(x, counts, axis), 0)),
  ],
  gradient: ({ inputs: [x, counts], grads: [g], attributes: { axis } }) => {
    const { shape } = x.type;
    const [length, at] = along(shape, axis);
    const positions = countedPositions(countsFor(x, counts, axis), g!.type.shape[at]);
    const flat = axis === null ? [length] : shape;
    const back = takeAdjoint(g!, positions, flat, { axis: at, mode: 'valid' });
    return [axis === null ? reshape(back, shape) : back, null];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x, counts], outputTypes: [{ shape }], attributes: { axis } }) => {
      const [, at] = along(x.type.shape, axis);
      const positions = countedPositions(countsFor(x, counts, axis), shape[at]);
      return [take(axis === null ? flatten(x) : x, positions, { axis: at, mode: 'valid' })];
    },
  },
  onnx: ({ onnx, inputs: [x, counts], inputTypes: [type, { shape }], attributes: { axis } }) => {
    const [length, at] = along(type.shape, axis);
    const wide = onnx.cast(counts, 'int64');
    const isOne = shape.every((dim) => dim === 1);
    const each = isOne
      ? onnx.node('Expand', [onnx.reshape(wide, [1]), onnx.sizes([length])])
      : wide;
    const elements = axis === null ? onnx.reshape(x, [length]) : x;
    return onnx.node('Gather', [elements, writeRepeated(onnx, each, length, null)], { axis: at });
  },
  samples: [
    { args: [tensor(['n', 2]), tensor(['n'], { dtype: 'int32', low: 0, high: 3 }), 0] },
    { args: [tensor([2, 3]), [2, 0, 1], -1] },
    { args: [tensor(['n', 2]), tensor([], { dtype: 'int64', low: 0, high: 3 })] },
  ],
});

/** Number of repeated elements, and their axis. */
function along(shape: Shape, axis: number | null): readonly [Dim, number] {
  if (axis === null) return [elementCount(shape), 0];
  const at = normalizeAxis('repeatEach', axis, shape.length);
  return [shape[at], at];
}

function otherCounts(counts: Shape, length: Dim): Refusal {
  return {
    op: 'repeatEach',
    problem: words`counts and elements do not match`,
    expected: words`one count, or one for each of ${length} elements`,
    actual: words`${counts}`,
  };
}

/** One count for each element. */
function countsFor<T extends Tensor>(x: T, counts: T, axis: number | null): T {
  const [length] = along(x.type.shape, axis);
  const isOne = counts.type.shape.every((dim) => dim === 1);
  return isOne ? broadcastTo(reshape(counts, [1]), [length]) : counts;
}
