import * as attr from '../../base/attributes/attribute.js';
import { type Dim, isStatic } from '../../base/dim/index.js';
import { DTypeError, ShapeError } from '../../base/errors.js';
import type { Tensor, TensorType } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { shapeToString } from '../declare/infer.js';
import { divisor } from '../loops.js';
import { sizeOperands } from './extents.js';
import { writeExtents } from './onnx.js';

/**
 * @internal The sizes of an array of `count` elements with -1 replaced by the inferred size. Several -1 all become the
 * same, and then give another number of elements. int32 or int64 of rank 1 and known length.
 */
export const completedSizes: OperatorFunction<
  <T extends Tensor = DefaultTensor>(sizes: Input<T>, count: Dim) => T
> = operator({
  name: 'completedSizes',
  family: 'dynamic',
  attributes: { count: attr.dim },
  method: false,
  operands: sizeOperands,
  call: (sizes, count) => ({ inputs: [sizes], attributes: { count } }),
  infer: ({ inputs: [sizes] }) => {
    axesOf('completedSizes', sizes);
    return [sizes];
  },
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [sizes], inputTypes: [{ shape }], index, attributes: { count }, extent }) => {
      const size = sizes.at(index);
      const { scalar } = size.type;
      const isOpen = (each: Expr): Expr => e.eq(each, -1);
      const known = Array.from({ length: shape[0] as number }, (_, axis) => {
        const each = sizes.at([e.i32(axis)]);
        return e.select(isOpen(each), e.constant(scalar, 1), each);
      });
      const product = known.reduce<Expr>(e.mul, e.constant(scalar, 1));
      const left = e.div(e.cast(scalar, extent(count)), divisor(product));
      return e.select(isOpen(size), left, size);
    },
  },
  samples: [
    { args: [tensor([3], { dtype: 'int32', low: -1, high: 4 }), 12] },
    { args: [tensor([2], { dtype: 'int64', values: [-1, 4] }), 20] },
    { args: [tensor([0], { dtype: 'int32' }), 1] },
  ],
});

/**
 * @internal `extents` with -1 for an inferred size of `count` elements. An operator of its own, so that arrays of the
 * same number of elements reshaped to the same sizes have the same shape.
 */
export const openExtents: OperatorFunction<
  <T extends Tensor = DefaultTensor>(sizes: Input<T>, count: Dim) => T
> = operator({
  name: 'openExtents',
  family: 'dynamic',
  attributes: { count: attr.dim },
  method: false,
  operands: sizeOperands,
  call: (sizes, count) => ({ inputs: [sizes], attributes: { count } }),
  infer: ({ inputs: [sizes], fresh }) => {
    const rank = axesOf('openExtents', sizes);
    return [{ dtype: 'bool', shape: Array.from({ length: rank }, () => fresh('size')) }];
  },
  sizedBy: [0],
  measure: ({ inputs: [sizes], attributes: { count } }) => [completedSizes(sizes, count)],
  gradient: 'none',
  lowering: { kind: 'point', elementwise: true, point: () => e.constant('bool', 0) },
  onnx: ({ onnx, inputs: [sizes], outputTypes: [{ shape }], attributes: { count } }) => {
    const wide = onnx.cast(sizes, 'int64');
    const one = onnx.scalar('int64', 1);
    const isOpen = onnx.node('Equal', [wide, onnx.scalar('int64', -1)], {}, 'bool');
    const known = onnx.node('Where', [isOpen, one, wide]);
    const product = onnx.reduce('ReduceProd', known, [0], false);
    const left = onnx.node('Div', [onnx.size(count), onnx.node('Max', [product, one])]);
    return writeExtents(onnx, onnx.node('Where', [isOpen, left, wide]), shape);
  },
  samples: [
    { args: [tensor([2], { dtype: 'int32', values: [-1, 3] }), 6] },
    { args: [tensor([3], { dtype: 'int64', low: 0, high: 3 }), 6] },
  ],
});

/** The number of sizes in an array of them. */
function axesOf(op: string, { dtype, shape }: TensorType): number {
  if (dtype !== 'int32' && dtype !== 'int64') {
    throw new DTypeError('sizes are integers', { op, expected: 'int32 or int64', actual: dtype });
  }
  const [rank] = shape;
  if (shape.length === 1 && isStatic(rank)) return rank;
  throw new ShapeError('the number of axes is not known', {
    op,
    expected: 'an array of rank 1 and known length',
    actual: shapeToString(shape),
  });
}
