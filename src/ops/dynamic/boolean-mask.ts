import { elementCount } from '../../base/dim/index.js';
import { promoteAll } from '../../base/dtype.js';
import { DTypeError, ShapeError } from '../../base/errors.js';
import { equalSizes, type Require, words } from '../../ir/requirement.js';
import type { Tensor, TensorType } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { shapeToString } from '../declare/infer.js';
import { flatten } from '../movement/reshape.js';
import { sum } from '../reduction/sum.js';
import { countBounds } from './nonzero.js';
import { asRows } from './onnx.js';
import { countedPositions, rowsAt, rowsBack } from './positions.js';

/**
 * The sub-arrays of `x` where `mask` is true, in row-major order: the mask covers the leading axes, which
 * become one axis with as many elements as are true. A mask of rank 0 adds a leading axis of 1 or 0 elements.
 * A `DTypeError` for a mask that is not bool, a `ShapeError` where its extents are not those of the leading
 * axes.
 */
export const booleanMask: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, mask: Input<T>) => T
> = operator({
  name: 'booleanMask',
  family: 'dynamic',
  attributes: {},
  operands: ([x, mask]) => [promoteAll([x]), promoteAll([mask])],
  call: (x, mask) => ({ inputs: [x, mask], attributes: {} }),
  infer: ({ inputs: [x, mask], fresh, require }) => {
    checkMask(x, mask, require);
    const rows = fresh('count', countBounds(mask.shape));
    return [{ dtype: x.dtype, shape: [rows, ...x.shape.slice(mask.shape.length)] }];
  },
  sizedBy: [1],
  measure: ({ inputs: [, mask] }) => [sum(mask)],
  gradient: ({ inputs: [x, mask], grads: [g] }) => {
    const positions = countedPositions(flatten(mask), g!.type.shape[0]);
    return [rowsBack(g!, positions, mask.type.shape.length, x.type.shape), null];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x, mask], outputTypes: [{ shape }] }) => [
      rowsAt(x, countedPositions(flatten(mask), shape[0]), mask.type.shape.length),
    ],
  },
  onnx: ({ onnx, inputs: [x, mask], inputTypes: [type, { shape }] }) => {
    const rows = shape.length === 1 ? x : onnx.reshape(x, asRows(type.shape, shape.length));
    const marks = shape.length === 1 ? mask : onnx.reshape(mask, [elementCount(shape)]);
    return onnx.node('Compress', [rows, marks], { axis: 0 });
  },
  samples: [
    { args: [tensor(['n', 3]), tensor(['n'], { dtype: 'bool' })] },
    { args: [tensor(['n', 'm']), tensor(['n', 'm'], { dtype: 'bool' })] },
    { args: [tensor([3, 'm'], { dtype: 'int64', low: -3, high: 3 }), [true, false, true]] },
    { args: [tensor(['n', 2]), tensor([], { dtype: 'bool' })] },
  ],
});

function checkMask(x: TensorType, mask: TensorType, require: Require): void {
  const op = 'booleanMask';
  if (mask.dtype !== 'bool') {
    throw new DTypeError('the mask is not bool', {
      op,
      expected: 'bool',
      actual: mask.dtype,
      advice: 'compare, as in mask.notEqual(0); to select by positions use take',
    });
  }
  const covers = `the leading extents of ${shapeToString(x.shape)}`;
  if (mask.shape.length > x.shape.length) {
    throw new ShapeError('the mask has more axes than the array', {
      op,
      expected: covers,
      actual: shapeToString(mask.shape),
    });
  }
  mask.shape.forEach((dim, axis) => {
    require(equalSizes(dim, x.shape[axis]), () => ({
      op,
      problem: words`the mask does not fit axis ${String(axis)} of the array`,
      expected: words`the leading extents of ${x.shape}`,
      actual: words`${mask.shape}`,
    }));
  });
}
