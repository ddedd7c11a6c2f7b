import * as attr from '../../base/attributes/attribute.js';
import { type Dim, elementCount, isStatic } from '../../base/dim/index.js';
import { isFloat } from '../../base/dtype.js';
import { ArgumentError } from '../../base/errors.js';
import type { Require } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import {
  type Call,
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import type { OnnxCall, OnnxValue } from '../declare/onnx.js';
import { div } from '../elementwise/arithmetic.js';
import { where } from '../elementwise/selection.js';
import { oneHot } from '../indexing/one-hot.js';
import { dimLike, onesLike } from '../movement/fill.js';
import { expandDims, reshape } from '../movement/reshape.js';
import { moveaxis } from '../movement/transpose.js';
import { argmax, max } from '../reduction/extremum.js';
import { sum } from '../reduction/sum.js';
import { areBinsEqual, binned, binWidths, exchangeBins, requireBins } from './adaptive-bins.js';
import { checkSpatialAxes, inputShape, overSpatialAxes } from './window.js';

/** A size for all spatial axes, or one each; null leaves the axis as it is. */
export type OutputSize = Dim | null | readonly (Dim | null)[];

/** `f(x, outputSize)`. */
export type AdaptivePool = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  outputSize: OutputSize,
) => T;

const attributes = { size: attr.dims };

/**
 * The mean of every bin over the spatial axes of `[N, C, ...size]`, which become `outputSize`. An axis of n
 * elements is divided among m bins: bin q has the elements from `floor(q * n / m)` to before
 * `ceil((q + 1) * n / m)`, so bins may share elements, as in PyTorch. Integers become float32.
 *
 * Throws a `ShapeError` for an axis without elements.
 */
export const adaptiveAvgPool: OperatorFunction<AdaptivePool> = operator({
  name: 'adaptiveAvgPool',
  family: 'contraction',
  precision: 'float32',
  attributes,
  operands: 'float',
  call: (x, outputSize) => callOf('adaptiveAvgPool', x, outputSize),
  infer: ({ inputs: [x], attributes: { size }, require }) => [
    { dtype: x.dtype, shape: pooledShape('adaptiveAvgPool', x.shape, size, require) },
  ],
  gradient: ({ inputs: [x], grads: [g], attributes: { size } }) => {
    const share = div(g!, binSizes(x, size));
    return [sum(binned(share, spatialOf(x)), slotAxes(size))];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], attributes: { size } }) => [
      div(sum(binned(x, size), slotAxes(size)), binSizes(x, size)),
    ],
  },
  onnx: (call) => pooledInOnnx(call, 'GlobalAveragePool', 'AveragePool'),
  samples: [
    { args: [tensor(['n', 2, 7]), 3] },
    { args: [tensor(['n', 1, 'h', 5]), [2, 1]], least: { h: 1 } },
    { args: [tensor(['n', 1, 'h', 2]), [null, 3]], least: { h: 1 } },
    { args: [tensor(['n', 2, 'h', 'h']), 1], least: { h: 1 } },
    { args: [tensor(['n', 1, 2, 3, 4]), [1, 3, 2]] },
  ],
});

/**
 * The maximum of every bin over the spatial axes of `[N, C, ...size]`, which become `outputSize`; the bins are
 * those of `adaptiveAvgPool`. The gradient goes to the first maximum of a bin, in row-major order.
 *
 * Throws a `ShapeError` for an axis without elements.
 */
export const adaptiveMaxPool: OperatorFunction<AdaptivePool> = operator({
  name: 'adaptiveMaxPool',
  family: 'contraction',
  attributes,
  operands: 'keep',
  call: (x, outputSize) => callOf('adaptiveMaxPool', x, outputSize),
  infer: ({ inputs: [x], attributes: { size }, require }) => [
    { dtype: x.dtype, shape: pooledShape('adaptiveMaxPool', x.shape, size, require) },
  ],
  gradient: ({ inputs: [x], grads: [g], attributes: { size } }) => {
    const all = binned(x, size, 'lowest');
    const count = elementCount(binWidths(spatialOf(x), size));
    const flat = reshape(all, [...x.type.shape.slice(0, 2), count, ...size]);
    const isFirst = moveaxis(oneHot(argmax(flat, 2), count, { dtype: 'bool' }), -1, 2);
    const routed = reshape(where(isFirst, expandDims(g!, 2), 0), all.type.shape);
    return [sum(exchangeBins(routed, spatialOf(x)), slotAxes(size))];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], attributes: { size } }) => [
      max(binned(x, size, 'lowest'), slotAxes(size)),
    ],
  },
  onnx: (call) => pooledInOnnx(call, 'GlobalMaxPool', 'MaxPool'),
  samples: [
    { args: [tensor(['n', 2, 7]), 3] },
    { args: [tensor(['n', 1, 'h', 5]), [2, 1]], least: { h: 1 } },
    { args: [tensor(['n', 1, 'h', 3]), 1], least: { h: 1 } },
    { args: [tensor(['n', 1, 2, 3, 4]), [1, null, 2]] },
    { args: [tensor(['n', 1, 4], { dtype: 'int32' }), 3] },
  ],
});

/** `adaptiveAvgPool` over one spatial axis: `[N, C, W]`. */
export const adaptiveAvgPool1d: AdaptivePool = overSpatialAxes('adaptiveAvgPool1d', 1, adaptiveAvgPool); // prettier-ignore
/** `adaptiveAvgPool` over two spatial axes: `[N, C, H, W]`. */
export const adaptiveAvgPool2d: AdaptivePool = overSpatialAxes('adaptiveAvgPool2d', 2, adaptiveAvgPool); // prettier-ignore
/** `adaptiveAvgPool` over three spatial axes: `[N, C, D, H, W]`. */
export const adaptiveAvgPool3d: AdaptivePool = overSpatialAxes('adaptiveAvgPool3d', 3, adaptiveAvgPool); // prettier-ignore
/** `adaptiveMaxPool` over one spatial axis: `[N, C, W]`. */
export const adaptiveMaxPool1d: AdaptivePool = overSpatialAxes('adaptiveMaxPool1d', 1, adaptiveMaxPool); // prettier-ignore
/** `adaptiveMaxPool` over two spatial axes: `[N, C, H, W]`. */
export const adaptiveMaxPool2d: AdaptivePool = overSpatialAxes('adaptiveMaxPool2d', 2, adaptiveMaxPool); // prettier-ignore
/** `adaptiveMaxPool` over three spatial axes: `[N, C, D, H, W]`. */
export const adaptiveMaxPool3d: AdaptivePool = overSpatialAxes('adaptiveMaxPool3d', 3, adaptiveMaxPool); // prettier-ignore

/** One size of at least 1, or null, for each of `axes` spatial axes. */
export function outputSizes(
  op: string,
  outputSize: OutputSize,
  axes: number,
): readonly (Dim | null)[] {
  const list = Array.isArray(outputSize) ? outputSize : Array.from({ length: axes }, () => outputSize as Dim | null); // prettier-ignore
  const accepts = (entry: unknown): boolean =>
    entry === null || (attr.dim.accepts(entry) && (!isStatic(entry) || entry >= 1));
  if (list.length !== axes || !list.every(accepts)) throw wrongSize(op, outputSize, axes);
  return list;
}

function wrongSize(op: string, outputSize: OutputSize, axes: number): ArgumentError {
  return new ArgumentError('outputSize is not acceptable', {
    op,
    expected: `an integer of at least 1, null for the size of the input, or ${axes} of these, one a spatial axis`,
    actual: attr.describe(outputSize),
  });
}

function callOf(
  op: string,
  x: Input<Tensor>,
  outputSize: OutputSize,
): Call<{ readonly size: readonly Dim[] }> {
  const shape = inputShape(x, op);
  checkSpatialAxes(op, Math.max(shape.length - 2, 1), x);
  const sizes = outputSizes(op, outputSize, shape.length - 2);
  return { inputs: [x], attributes: { size: sizes.map((size, axis) => size ?? shape[axis + 2]) } };
}

function pooledShape(op: string, shape: Shape, size: readonly Dim[], require: Require): Shape {
  const [images, channels, ...extents] = shape;
  // Attributes may come from a file.
  if (size.length === 0 || size.length !== extents.length)
    throw wrongSize(op, size, extents.length);
  requireBins(op, extents, size, require);
  return [images, channels, ...size];
}

function spatialOf(x: Tensor): Shape {
  return x.type.shape.slice(2);
}

/** The axes of binned arrays that run within a bin. */
function slotAxes(size: readonly Dim[]): readonly number[] {
  return size.map((_, axis) => axis + 2);
}

/** Number of elements in each bin: one number where it is the same for all. */
function binSizes<T extends Tensor>(x: T, size: readonly Dim[]): T | number {
  const extents = spatialOf(x);
  if (extents.every((extent, axis) => areBinsEqual(extent, size[axis]))) {
    const count = elementCount(binWidths(extents, size));
    return isStatic(count) ? count : dimLike(x, count);
  }
  const ones = binned(onesLike(x, { shape: extents }), size);
  return sum(ones, size.map((_, axis) => axis)); // prettier-ignore
}

/** An operator of ONNX for one bin, or for bins of equal sizes; null where bins differ or sizes are not known. */
function pooledInOnnx(
  {
    onnx,
    inputs: [x],
    inputTypes: [{ dtype, shape }],
    attributes: { size },
  }: OnnxCall<{
    readonly size: readonly Dim[];
  }>,
  overAll: string,
  overWindows: string,
): OnnxValue | null {
  if (!isFloat(dtype)) return null;
  if (size.every((count) => count === 1)) return onnx.node(overAll, [x]);
  const kernel = shape.slice(2).map((extent, axis) => {
    const count = size[axis];
    return isStatic(extent) && isStatic(count) && extent % count === 0 ? extent / count : null;
  });
  if (!kernel.every((extent) => extent !== null)) return null;
  return onnx.node(overWindows, [x], { kernel_shape: kernel, strides: kernel });
}
