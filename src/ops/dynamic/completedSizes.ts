import * as attr from '../../base/attribute.js';
import { type Dim, isStatic } from '../../base/dim.js';
import { DTypeError, ShapeError } from '../../base/errors.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/build.js';
import type { Expr } from '../../loop/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare.js';
import { shapeToString } from '../infer.js';
import { divisor } from '../loops.js';
import { sizeOperands } from './extents.js';

/**
 * The sizes of an array of `count` elements where -1 stands for one that is left open: it becomes what
 * the others leave. Several all become that, and then give another number of elements. int32 or int64 of
 * rank 1 and known length.
 */
export const completedSizes: OperatorFunction<
  <T extends Tensor = DefaultTensor>(sizes: Input<T>, count: Dim) => T,
  false
> = operator({
  name: 'completedSizes',
  family: 'dynamic',
  attributes: { count: attr.dim },
  method: false,
  operands: sizeOperands,
  call: (sizes, count) => ({ inputs: [sizes], attributes: { count } }),
  infer: ({ inputs: [sizes] }) => {
    const op = 'completedSizes';
    const { dtype, shape } = sizes;
    if (dtype !== 'int32' && dtype !== 'int64') {
      throw new DTypeError('sizes are integers', { op, expected: 'int32 or int64', actual: dtype });
    }
    if (shape.length !== 1 || !isStatic(shape[0])) {
      throw new ShapeError('the number of axes is not known', {
        op,
        expected: 'an array of rank 1 and known length',
        actual: shapeToString(shape),
      });
    }
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
