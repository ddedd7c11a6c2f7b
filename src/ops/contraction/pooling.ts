import * as attr from '../../base/attributes/attribute.js';
import { addDim, ceilDivDim, type Dim, isStatic, minDim, subDim } from '../../base/dim/index.js';
import { isFloat } from '../../base/dtype.js';
import type { HostValue } from '../../ir/host.js';
import type { Require } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { div } from '../elementwise/arithmetic.js';
import { equal } from '../elementwise/comparison.js';
import { where } from '../elementwise/selection.js';
import { expandDims, reshape } from '../movement/reshape.js';
import { argmax, max } from '../reduction/extremum.js';
import { broadcastTo, sum } from '../reduction/sum.js';
import { slidingWindows, slidingWindowsAdjoint } from './sliding-windows.js';
import {
  checkPoolPadding,
  checkSpatialAxes,
  type PaddingPair,
  endsFor,
  overSpatialAxes,
  perAxis,
  type PerAxis,
  positions,
  reach,
  inputShape,
  type SizedWindows,
  windowAttributes,
  type WindowOptions,
  windowsOf,
} from './window.js';
import { windowCounts } from './window-counts.js';

export interface PoolOptions extends WindowOptions {
  /** Also use windows that begin inside the padded input and end beyond it. Default false. */
  readonly ceilMode?: boolean;
}

export interface AvgPoolOptions extends Omit<PoolOptions, 'dilation'> {
  /** Count padding among the averaged elements. Default true. */
  readonly countIncludePad?: boolean;
}

/** `f(x, kernelSize, options?)`; `strides` default to the kernel size. */
export type Pool<O> = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  kernelSize: PerAxis,
  options?: O,
) => T;

/**
 * The maximum of every window over the spatial axes of `[N, C, ...size]`; padding never wins. The gradient
 * goes to the first maximum of a window, in row-major order.
 */
export const maxPool: OperatorFunction<Pool<PoolOptions>> = operator({
  name: 'maxPool',
  options: { at: 2, names: ['strides', 'padding', 'dilation', 'ceilMode'] },
  family: 'contraction',
  attributes: windowAttributes,
  operands: 'keep',
  call: (x, kernelSize, options = {}) => ({
    inputs: [x],
    attributes: covering(poolWindows('maxPool', x, kernelSize, options)),
  }),
  infer: ({ inputs: [x], attributes: windows, require }) => [
    { dtype: x.dtype, shape: pooledShape('maxPool', x.shape, windows, require) },
  ],
  gradient: ({ inputs: [x], grads: [g], attributes: windows }) => {
    const { kernel } = windows;
    const all = windowsIn(x, windows, 'lowest');
    const count = kernel.reduce((size, extent) => size * extent, 1);
    const [images, channels, ...places] = g!.type.shape;
    const flat = reshape(all, [images, channels, count, ...places]);
    const isFirst = equal(argmax(flat, 2, { keepdims: true }), column(count, places.length));
    const routed = reshape(where(isFirst, expandDims(g!, 2), 0), all.type.shape);
    return [slidingWindowsAdjoint(routed, x.type.shape.slice(2), windows)];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], attributes: windows }) => [
      max(windowsIn(x, windows, 'lowest'), windowAxes(windows)),
    ],
  },
  onnx: ({ onnx, inputs: [x], inputTypes: [{ dtype }], attributes }) => {
    const windows = windowsInOnnx(attributes);
    if (windows === null || !isFloat(dtype)) return null;
    return onnx.node('MaxPool', [x], windows);
  },
  samples: [
    { args: [tensor(['n', 2, 7]), 3] },
    {
      args: [tensor(['n', 1, 'h', 5]), [2, 3], { strides: [1, 2], padding: [1, 1], dilation: 2 }],
      least: { h: 2 }, // at 1 a window would hold padding only, and its maximum is -Infinity
    },
    { args: [tensor(['n', 1, 2, 3, 4]), 2, { strides: 1, ceilMode: true }] },
    { args: [tensor(['n', 1, 4], { dtype: 'int32' }), 2, { padding: 1 }] },
  ],
});

/** The positions `0 .. count` as a column: one axis, then `trailing` axes of size 1. */
function column(count: number, trailing: number): HostValue {
  const nested = (value: HostValue, depth: number): HostValue =>
    depth === 0 ? value : [nested(value, depth - 1)];
  return Array.from({ length: count }, (_, at) => nested(at, trailing));
}

/**
 * The mean of every window over the spatial axes of `[N, C, ...size]`. With `countIncludePad` the zeros of
 * the padding count; the extra padding of `ceilMode` never does, as in PyTorch.
 */
export const avgPool: OperatorFunction<Pool<AvgPoolOptions>> = operator({
  name: 'avgPool',
  options: { at: 2, names: ['strides', 'padding', 'ceilMode', 'countIncludePad'] },
  family: 'contraction',
  precision: 'float32',
  attributes: { ...windowAttributes, beyond: attr.dims, countIncludePad: attr.bool },
  operands: 'float',
  call: (x, kernelSize, options = {}) => ({
    inputs: [x],
    attributes: {
      ...poolWindows('avgPool', x, kernelSize, options),
      countIncludePad: options.countIncludePad ?? true,
    },
  }),
  infer: ({ inputs: [x], attributes: windows, require }) => [
    { dtype: x.dtype, shape: pooledShape('avgPool', x.shape, covering(windows), require) },
  ],
  gradient: ({ inputs: [x], grads: [g], attributes }) => {
    const windows = covering(attributes);
    const share = div(g!, divisorOf(x, attributes));
    const [images, channels, ...places] = g!.type.shape;
    const all = [images, channels, ...windows.kernel, ...places];
    const spread = broadcastTo(expandDims(share, windowAxes(windows)), all);
    return [slidingWindowsAdjoint(spread, x.type.shape.slice(2), windows)];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], attributes }) => {
      const windows = covering(attributes);
      const total = sum(windowsIn(x, windows), windowAxes(windows));
      return [div(total, divisorOf(x, attributes))];
    },
  },
  onnx: ({ onnx, inputs: [x], attributes: { beyond, countIncludePad, ...sized } }) => {
    const windows = windowsInOnnx(sized);
    // Extra padding never counts; ONNX has only one kind of padding.
    const isPadded = beyond.every((extra) => isStatic(extra) && extra <= 0);
    if (windows === null || !isPadded || sized.dilation.some((step) => step !== 1)) return null;
    const { dilations: _, ...rest } = windows;
    return onnx.node('AveragePool', [x], { ...rest, count_include_pad: Number(countIncludePad) });
  },
  samples: [
    { args: [tensor(['n', 2, 7]), 3] },
    {
      args: [
        tensor(['n', 1, 'h', 5]),
        [2, 3],
        { strides: [1, 2], padding: [1, 1], countIncludePad: false },
      ],
      least: { h: 1 },
    },
    { args: [tensor(['n', 1, 2, 3, 4]), 2, { strides: 3, padding: 1, ceilMode: true }] },
  ],
});

/** `maxPool` over one spatial axis: `[N, C, W]`. */
export const maxPool1d: Pool<PoolOptions> = overSpatialAxes('maxPool1d', 1, maxPool);
/** `maxPool` over two spatial axes: `[N, C, H, W]`. */
export const maxPool2d: Pool<PoolOptions> = overSpatialAxes('maxPool2d', 2, maxPool);
/** `maxPool` over three spatial axes: `[N, C, D, H, W]`. */
export const maxPool3d: Pool<PoolOptions> = overSpatialAxes('maxPool3d', 3, maxPool);
/** `avgPool` over one spatial axis: `[N, C, W]`. */
export const avgPool1d: Pool<AvgPoolOptions> = overSpatialAxes('avgPool1d', 1, avgPool);
/** `avgPool` over two spatial axes: `[N, C, H, W]`. */
export const avgPool2d: Pool<AvgPoolOptions> = overSpatialAxes('avgPool2d', 2, avgPool);
/** `avgPool` over three spatial axes: `[N, C, D, H, W]`. */
export const avgPool3d: Pool<AvgPoolOptions> = overSpatialAxes('avgPool3d', 3, avgPool);

interface PoolWindows extends SizedWindows {
  /** Extra padding of `ceilMode`; negative where windows leave elements over. */
  readonly beyond: readonly Dim[];
}

function poolWindows(
  op: string,
  x: Input<Tensor>,
  kernelSize: PerAxis,
  options: PoolOptions,
): PoolWindows {
  checkSpatialAxes(op, Math.max(inputShape(x, op).length - 2, 1), x);

  const size = inputShape(x, op).slice(2);
  const kernel = perAxis(op, 'kernelSize', kernelSize, size.length);
  const windows = windowsOf(op, { ...options, strides: options.strides ?? kernel }, size, kernel);
  const { strides, padding, dilation } = windows;
  checkPoolPadding(op, kernel, options.padding ?? 0, dilation);
  const beyond = size.map((extent, axis): Dim => {
    if (!(options.ceilMode ?? false)) return 0;
    const [before, after] = padding[axis];
    const start = addDim(extent, before);
    const slack = subDim(addDim(start, after), reach(kernel[axis], dilation[axis]));
    const stride = strides[axis];
    const count = minDim(addDim(ceilDivDim(slack, stride), 1), ceilDivDim(start, stride));
    const ends = endsFor(extent, before, kernel[axis], count, stride, dilation[axis]);
    return subDim(ends[1], after);
  });
  return { kernel, ...windows, beyond };
}

/** The windows with the extra padding of `ceilMode` added to theirs. */
function covering({ kernel, strides, padding, dilation, beyond }: PoolWindows): SizedWindows {
  const stretched = padding.map(([before, after], axis): PaddingPair => [
    before,
    addDim(after, beyond[axis]),
  ]);
  return { kernel, strides, padding: stretched, dilation };
}

function pooledShape(op: string, shape: Shape, windows: SizedWindows, require: Require): Shape {
  const places = positions(op, shape.slice(2), windows.kernel, windows, require);
  return [...shape.slice(0, 2), ...places];
}

/** `slidingWindows` with complete attributes. */
function windowsIn<T extends Tensor>(
  x: T,
  { kernel, strides, padding, dilation }: SizedWindows,
  outside: 'zero' | 'lowest' = 'zero',
): T {
  return slidingWindows(x, kernel, { strides, padding, dilation, outside });
}

/** Axes of the result of `slidingWindows` that run within a window. */
function windowAxes({ kernel }: SizedWindows): readonly number[] {
  return kernel.map((_, axis) => axis + 2);
}

/** Windows as ONNX attributes; null where padding depends on sizes, or contains whole windows. */
function windowsInOnnx({
  kernel,
  strides,
  padding,
  dilation,
}: SizedWindows): Record<
  'kernel_shape' | 'strides' | 'dilations' | 'pads',
  readonly number[]
> | null {
  const pads = [0, 1].flatMap((end) => padding.map((ends) => ends[end]));
  const isNarrow = padding.every((ends, axis) =>
    ends.every((width) => isStatic(width) && width >= 0 && width < kernel[axis]),
  );
  if (!isNarrow) return null;
  return { kernel_shape: kernel, strides, dilations: dilation, pads: pads.filter(isStatic) };
}

/** Number of elements in each mean: one number where it is the same for all windows. */
function divisorOf<T extends Tensor>(
  x: T,
  attributes: PoolWindows & { readonly countIncludePad: boolean },
): T | number {
  const { kernel, padding, beyond, countIncludePad } = attributes;
  const isUniform = countIncludePad
    ? beyond.every((extra) => typeof extra === 'number' && extra <= 0)
    : covering(attributes).padding.every((ends) => ends[0] === 0 && ends[1] === 0);
  if (isUniform) return kernel.reduce((size, extent) => size * extent, 1);
  const margin = countIncludePad ? padding : padding.map(() => [0, 0]);
  return windowCounts(x, covering(attributes), margin);
}
