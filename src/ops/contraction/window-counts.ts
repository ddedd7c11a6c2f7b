import * as attr from '../../base/attributes/attribute.js';
import type { Dim } from '../../base/dim/index.js';
import { ShapeError } from '../../base/errors.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { shapeToString } from '../declare/infer.js';
import { computeScalar } from '../declare/lowering.js';
import { checkWindows, positions, type SizedWindows, windowAttributes } from './window.js';

/**
 * @internal Number of elements of each (undilated) window that lie in the input or within `margin` of it: the divisor
 * of the mean of a padded window. `x` gives size and dtype, its elements are not read; the result has one
 * element for each window, without batch and channels.
 */
export const windowCounts: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    windows: SizedWindows,
    margin: readonly (readonly Dim[])[],
  ) => T
> = operator({
  name: 'windowCounts',
  family: 'contraction',
  attributes: { ...windowAttributes, margin: attr.list(attr.dims) },
  operands: 'keep',
  method: false,
  call: (x, windows, margin) => ({ inputs: [x], attributes: { ...windows, margin } }),
  infer: ({ inputs: [x], attributes: { margin, ...windows }, require }) => {
    const op = 'windowCounts';
    checkWindows(op, windows, { margin });
    const { kernel } = windows;
    if (kernel.length === 0 || kernel.length > x.shape.length) {
      throw new ShapeError('the rank does not fit', {
        op,
        expected: `rank ${Math.max(1, kernel.length)} or more, and as many spatial axes as the kernel has`,
        actual: `${shapeToString(x.shape)}, a kernel of ${kernel.length} axes`,
      });
    }
    const shape = positions(op, x.shape.slice(-kernel.length), kernel, windows, require);
    return [{ dtype: x.dtype, shape }];
  },
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ attributes: { kernel, strides, padding, margin }, inputs: [x], index, extent }) => {
      const size = x.shape.slice(-kernel.length);
      const counts = index.map((q, axis) => {
        const begin = e.sub(e.mul(q, strides[axis]), extent(padding[axis][0]));
        const [low, high] = margin[axis].map(extent);
        const from = e.max(begin, e.neg(low));
        const to = e.min(e.add(begin, kernel[axis]), e.add(size[axis], high));
        return e.max(e.sub(to, from), 0);
      });
      return e.cast(
        computeScalar(x.dtype),
        counts.reduce((product, count) => e.mul(product, count)),
      );
    },
  },
  samples: [
    {
      args: [
        tensor(['n', 1, 5]),
        { kernel: [3], strides: [2], padding: [[1, 2]], dilation: [1] },
        [[1, 0]],
      ],
    },
  ],
});
