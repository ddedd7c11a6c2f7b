import * as attr from '../../base/attributes/attribute.js';
import { boundsOf, elementCount } from '../../base/dim/index.js';
import type { SizeBounds } from '../../ir/operator.js';
import type { Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { unravel } from '../contraction/unravel.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { notEqual } from '../elementwise/comparison.js';
import { checkShape } from '../declare/infer.js';
import { checkIndexDType, indexDType } from '../indexing/position.js';
import { flatten } from '../movement/reshape.js';
import { sum } from '../reduction/sum.js';
import { type ShapeArgument, shapeList } from '../signatures.js';
import { countedPositions } from './positions.js';

/**
 * Multi-dimensional indices from flat positions in an array of a shape: int64, the shape of `positions`
 * followed by one axis for the indices. Positions are 0 or more and not checked.
 */
export const unravelIndex: OperatorFunction<
  <T extends Tensor = DefaultTensor>(positions: Input<T>, shape: ShapeArgument) => T
> = operator({
  name: 'unravelIndex',
  family: 'dynamic',
  attributes: { shape: attr.dims },
  method: false,
  operands: ([positions]) => [indexDType(positions)],
  call: (positions, shape) => ({ inputs: [positions], attributes: { shape: shapeList(shape) } }),
  infer: ({ inputs: [positions], attributes: { shape }, require }) => {
    checkIndexDType('unravelIndex', positions.dtype);
    checkShape('unravelIndex', shape, require);
    return [{ dtype: 'int64', shape: [...positions.shape, shape.length] }];
  },
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [positions], index, attributes: { shape }, extent }) => {
      const axis = index.at(-1)!;
      const flat = e.cast('i32', positions.at(index.slice(0, -1)));
      const along = unravel(flat, shape.map(extent));
      const chosen = along.reduceRight<Expr>(
        (rest, at, k) => e.select(e.eq(axis, k), at, rest),
        e.i32(0),
      );
      return e.cast('i64', chosen);
    },
  },
  samples: [
    { args: [tensor(['n'], { dtype: 'int32', low: 0, high: 11 }), [3, 1, 4]] },
    { args: [tensor([2, 2], { dtype: 'int64', low: 0, high: 5 }), [2, 3]] },
    { args: [tensor(['n'], { dtype: 'int8', low: 0, high: 0 }), []] },
  ],
});

/** Bounds of the number of true elements of a mask. */
export function countBounds(shape: Shape): SizeBounds {
  const most = elementCount(shape);
  return { min: 0, max: boundsOf(most).max, most };
}

/** True where elements are not 0; NaN is true, -0 is false. */
function truth<T extends Tensor>(x: T): T {
  return x.type.dtype === 'bool' ? x : notEqual(x, 0);
}

/**
 * The indices of the elements that are not 0, in row-major order: int64 of shape (count, rank). NaN is not 0,
 * -0 is. Of rank 0 the result is of shape (1, 0) or (0, 0). Any dtype.
 */
export const nonzero: OperatorFunction<<T extends Tensor = DefaultTensor>(x: Input<T>) => T> =
  operator({
    name: 'nonzero',
    family: 'dynamic',
    attributes: {},
    operands: 'keep',
    call: (x) => ({ inputs: [x], attributes: {} }),
    infer: ({ inputs: [x], fresh }) => {
      const rows = fresh('count', countBounds(x.shape));
      return [{ dtype: 'int64', shape: [rows, x.shape.length] }];
    },
    sizedBy: [0],
    measure: ({ inputs: [x] }) => [sum(truth(x))],
    gradient: 'none',
    lowering: {
      kind: 'decompose',
      decompose: ({ inputs: [x], outputTypes: [{ shape }] }) => [
        unravelIndex(countedPositions(flatten(truth(x)), shape[0]), x.type.shape),
      ],
    },
    onnx: ({ onnx, inputs: [x], inputTypes: [{ shape }] }) => {
      const truths = onnx.cast(x, 'bool');
      // NonZero of a scalar gives no index, so an axis is added and its index dropped.
      const marked = shape.length > 0 ? truths : onnx.reshape(truths, [1]);
      const indices = onnx.transpose(onnx.node('NonZero', [marked], {}, 'int64'), [1, 0]);
      if (shape.length > 0) return indices;
      return onnx.node('Slice', [indices, onnx.ints([0]), onnx.ints([0]), onnx.ints([1])]);
    },
    samples: [
      { args: [tensor(['n', 'm'], { dtype: 'bool' })] },
      { args: [tensor(['n'], { dtype: 'int32', low: 0, high: 2 })] },
      { args: [tensor([3, 'n', 2], { values: [0, 1, NaN, -0, 0.5] })] },
      { args: [tensor([], { dtype: 'bool' })] },
    ],
  });
