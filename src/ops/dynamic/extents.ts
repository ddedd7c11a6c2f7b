import { isStatic } from '../../base/dim.js';
import { DTypeError, ShapeError } from '../../base/errors.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare.js';
import { shapeToString } from '../infer.js';

/**
 * An array whose shape the elements of `sizes` are: what makes dimensions of data. Nobody reads its own
 * elements, which are false, so it takes no memory. `sizes` is an int32 or int64 array of rank 1 with as
 * many elements as the result has axes; negative ones are refused when they are known.
 */
export const extents: OperatorFunction<
  <T extends Tensor = DefaultTensor>(sizes: Input<T>) => T,
  false
> = operator({
  name: 'extents',
  family: 'dynamic',
  attributes: {},
  method: false,
  operands: 'keep',
  call: (sizes) => ({ inputs: [sizes], attributes: {} }),
  infer: ({ inputs: [{ dtype, shape }], fresh }) => {
    const op = 'extents';
    if (dtype !== 'int32' && dtype !== 'int64') {
      throw new DTypeError('sizes are integers', { op, expected: 'int32 or int64', actual: dtype });
    }
    const [rank] = shape;
    if (shape.length !== 1 || !isStatic(rank)) {
      throw new ShapeError('the number of axes is not known', {
        op,
        expected: 'an array of rank 1 and known length',
        actual: shapeToString(shape),
      });
    }
    return [{ dtype: 'bool', shape: Array.from({ length: rank }, () => fresh('size')) }];
  },
  sizedBy: [0],
  measure: ({ inputs: [sizes] }) => [sizes],
  gradient: 'none',
  lowering: { kind: 'point', elementwise: true, point: () => e.constant('bool', 0) },
  samples: [
    { args: [tensor([2], { dtype: 'int32', low: 0, high: 4 })] },
    { args: [tensor([1], { dtype: 'int64', low: 0, high: 9 })] },
    { args: [tensor([0], { dtype: 'int64' })] },
  ],
});
