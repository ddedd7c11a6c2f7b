import * as attr from '../../base/attributes/attribute.js';
import { addDim, type Dim, elementCount } from '../../base/dim/index.js';
import { words } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import {
  type RequiredShape,
  requiredShape,
  requireShape,
  shapeMeetings,
} from '../declare/meeting.js';
import { clamped } from '../loops.js';
import { scatterLoops } from '../scatter.js';
import { computeScalar } from '../declare/lowering.js';
import { worst } from '../reduction/best.js';
import {
  checkWindows,
  perAxis,
  type PerAxis,
  positions,
  inputShape,
  type SizedWindows,
  splitAxes,
  windowAttributes,
  countWindows,
  type WindowOptions,
  windowsOf,
} from './window.js';
import { scatterAdd } from '../indexing/gather.js';
import { onesLike, zerosLike } from '../movement/fill.js';
import { flatten, reshape } from '../movement/reshape.js';
import { slice } from '../movement/slice.js';
import { cumsum } from '../reduction/cumulative.js';

export interface SlidingWindowsOptions extends WindowOptions {
  /** Padding value: zero, or the lowest value of the dtype. Default `zero`. */
  readonly outside?: 'zero' | 'lowest';
}

/**
 * Every window over the last axes of `x`: `[..., ...size]` becomes `[..., ...kernel, ...count]`, where
 * element `[..., r, q]` is `x[..., q * strides + r * dilation - padding]`. `kernelSize` is one integer for
 * each axis, or one for all axes but the first two. Nothing is copied where the consumer is fused: a pool is
 * a reduction over this, a convolution a product with it (im2col).
 */
export const slidingWindows: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    kernelSize: PerAxis,
    options?: SlidingWindowsOptions,
  ) => T
> = operator({
  name: 'slidingWindows',
  options: { at: 2, names: ['strides', 'padding', 'dilation', 'outside'] },
  family: 'contraction',
  attributes: { ...windowAttributes, outside: attr.oneOf('zero', 'lowest') },
  operands: 'keep',
  call: (x, kernelSize, options = {}) => {
    const op = 'slidingWindows';
    const shape = inputShape(x, op);
    const axes = typeof kernelSize === 'number' ? Math.max(shape.length - 2, 0) : kernelSize.length;
    const kernel = perAxis(op, 'kernelSize', kernelSize, axes);
    const spatial = shape.slice(Math.max(shape.length - axes, 0));
    return {
      inputs: [x],
      attributes: {
        kernel,
        ...windowsOf(op, options, spatial, kernel),
        outside: options.outside ?? 'zero',
      },
    };
  },
  infer: ({ inputs: [x], attributes: windows, require }) => {
    const { kernel } = windows;
    const [lead, size] = splitAxes('slidingWindows', x.shape, kernel.length);
    const count = positions('slidingWindows', size, kernel, windows, require);
    return [{ dtype: x.dtype, shape: [...lead, ...kernel, ...count] }];
  },
  gradient: ({ inputs: [x], grads: [g], attributes: { outside: _outside, ...windows } }) => [
    slidingWindowsAdjoint(g!, x.type.shape.slice(-windows.kernel.length), windows),
  ],
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ attributes: windows, inputs: [x], index, extent }) => {
      const { inside, at } = source(windows, index, x.shape, extent);
      const outside =
        windows.outside === 'zero' ? e.constant(computeScalar(x.dtype), 0) : worst('max', x.dtype);
      const value = x.at(at);
      return inside === null ? value : e.select(inside, value, outside);
    },
  },
  batch: {
    rows: ({ inputs: [x], attributes: { kernel, ...windows } }) => [
      slidingWindows(x, kernel, windows),
    ],
  },
  samples: [
    { args: [tensor(['n', 2, 5]), 3] },
    {
      args: [
        tensor(['n', 'h', 4]),
        [2, 3],
        {
          strides: [2, 1],
          padding: [
            [1, 0],
            [0, 2],
          ],
          dilation: [1, 2],
        },
      ],
      least: { h: 1 },
    },
    { args: [tensor([6], { dtype: 'int32' }), [2], { padding: 1, outside: 'lowest' }] },
  ],
});

/**
 * @internal The adjoint of `slidingWindows`: `[..., ...kernel, ...count]` becomes `[..., ...size]`, each element the
 * sum over all windows that contain it (col2im). Elements of the padding are dropped.
 */
export const slidingWindowsAdjoint: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, size: readonly Dim[], windows: SizedWindows) => T
> = operator({
  name: 'slidingWindowsAdjoint',
  family: 'contraction',
  attributes: { ...windowAttributes, size: attr.dims },
  operands: 'keep',
  method: false,
  call: (x, size, windows) => ({ inputs: [x], attributes: { ...windows, size } }),
  infer: ({ inputs: [x], attributes: { size, ...windows }, require }) => {
    const op = 'slidingWindowsAdjoint';
    requireShape(x.shape, windowsShape(op, x.shape, size, windows), require);
    positions(op, size, windows.kernel, windows, require);
    const lead = x.shape.slice(0, x.shape.length - 2 * size.length);
    return [{ dtype: x.dtype, shape: [...lead, ...size] }];
  },
  meetings: ([x], { size, ...windows }) =>
    shapeMeetings(0, x, windowsShape('slidingWindowsAdjoint', x, size, windows)),
  gradient: ({ grads: [g], attributes: { size: _size, kernel, ...windows } }) => [
    slidingWindows(g!, kernel, windows),
  ],
  lowering: {
    kind: 'kernel',
    kernel: (context) => {
      const {
        attributes: windows,
        inputs: [x],
        outputs: [out],
      } = context;
      const from = (index: readonly Expr[]): Source =>
        source(windows, index, out.shape, (dim) => context.extent(dim));
      // Without padding, neighboring windows put their elements in distinct places.
      const areApart = from(x.shape).inside === null;
      return scatterLoops(context, {
        domain: x.shape,
        target: (index) => from(index).at,
        value: (index) => {
          const { inside } = from(index);
          const value = x.at(index);
          return inside === null ? value : e.select(inside, value, 0);
        },
        ...(areApart && { last: 'apart' }),
        most: e.i32(windows.kernel.reduce((count, size) => count * size, 1)),
      });
    },
  },
  batch: {
    isLinear: true,
    rows: ({ inputs: [x], attributes: { size, ...windows } }) => [
      slidingWindowsAdjoint(x, size, windows),
    ],
  },
  onnx: {
    // Elements are numbered from 1; number 0 marks padding, which is dropped.
    composed: ({ inputs: [x], attributes: { size, kernel, ...windows } }) => {
      const lead = x.type.shape.slice(0, x.type.shape.length - 2 * kernel.length);
      const shape = [...lead, ...size];
      const count = elementCount(shape);
      const ones = onesLike(x, { shape: [count], dtype: 'int64' });
      const places = slidingWindows(reshape(cumsum(ones, 0), shape), kernel, windows);
      const nothing = zerosLike(x, { shape: [addDim(count, 1)] });
      const summed = scatterAdd(nothing, flatten(places), flatten(x), 0);
      return [reshape(slice(summed, [1]), shape)];
    },
  },
  samples: [
    {
      args: [
        tensor(['n', 3, 4]),
        [6],
        { kernel: [3], strides: [2], padding: [[1, 2]], dilation: [1] },
      ],
    },
    {
      args: [
        tensor(['n', 2, 3, 2, 4]),
        [5, 4],
        {
          kernel: [2, 3],
          strides: [3, 1],
          padding: [
            [0, 0],
            [1, 1],
          ],
          dilation: [1, 1],
        },
      ],
    },
  ],
});

/** The shape that `slidingWindowsAdjoint` asks of its windows. */
function windowsShape(
  op: string,
  x: Shape,
  size: readonly Dim[],
  windows: SizedWindows,
): RequiredShape {
  checkWindows(op, windows);
  const { kernel } = windows;
  const [lead] = splitAxes(op, x, 2 * kernel.length);
  const count = countWindows(size, kernel, windows);
  const problem = words`the windows do not fit the size`;
  return requiredShape(op, problem, [...lead, ...kernel, ...count], x);
}

interface Source {
  /** Condition that the element lies in the input; null where that is certain. */
  readonly inside: Expr | null;
  /** Its index, clamped into the input. */
  readonly at: readonly Expr[];
}

/** Source of element `[..., r, q]` of all windows. */
function source(
  { kernel, strides, padding, dilation }: SizedWindows,
  index: readonly Expr[],
  shape: readonly Expr[],
  extent: (dim: Dim) => Expr,
): Source {
  const axes = kernel.length;
  const lead = index.length - 2 * axes;
  let inside: Expr | null = null;
  const spatial = kernel.map((_, axis) => {
    const r = index[lead + axis];
    const q = index[lead + axes + axis];
    const [before, after] = padding[axis];
    const moved = e.add(e.mul(q, strides[axis]), e.mul(r, dilation[axis]));
    if (before === 0 && typeof after === 'number' && after <= 0) return moved;
    const position = e.sub(moved, extent(before));
    const size = shape[lead + axis];
    const fits = e.and(e.ge(position, 0), e.lt(position, size));
    inside = inside === null ? fits : e.and(inside, fits);
    return clamped(position, 0, e.sub(size, 1));
  });
  return { inside, at: [...index.slice(0, lead), ...spatial] };
}
