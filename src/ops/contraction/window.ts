import * as attr from '../../base/attributes/attribute.js';
import {
  addDim, ceilDivDim, type Dim, floorDivDim, maxDim,
  minDim, mulDim, subDim,
} from '../../base/dim/index.js'; // prettier-ignore
import { ArgumentError, ShapeError } from '../../base/errors.js';
import { describeHost } from '../../ir/host.js';
import { atLeast, type Refusal, type Require, words } from '../../ir/requirement.js';
import { type Shape, Tensor, type TensorType } from '../../ir/types.js';
import type { Input } from '../declare/declare.js';
import { shapeToString } from '../declare/infer.js';
import type { OnnxValue, OnnxWriter } from '../declare/onnx.js';

/** One number for every spatial axis, or one number each. */
export type PerAxis = number | readonly number[];

/**
 * Zeros around the spatial axes: a number for both ends of all axes, a number for both ends of each axis, a
 * pair `[before, after]` for each axis, `'valid'` for none, or `'same'` for as many as make the result
 * `ceil(size / stride)` long (the odd one goes after). Numbers are at least 0; a negative end of a pair crops
 * so many elements instead.
 */
export type Padding = PerAxis | readonly (readonly Dim[])[] | 'same' | 'valid';

/** Geometry of sliding windows over the spatial axes. */
export interface WindowOptions {
  /** Distance between neighboring windows. Default 1. */
  readonly strides?: PerAxis;
  /** Zeros around the input. Default 0. */
  readonly padding?: Padding;
  /** The distance between two elements of a window. Default 1. */
  readonly dilation?: PerAxis;
}

/** Padding before and after one axis, a pair. */
export type PaddingPair = readonly Dim[];

/** Geometry of windows, with defaults filled in. */
export interface Windows {
  readonly strides: readonly number[];
  readonly padding: readonly PaddingPair[];
  readonly dilation: readonly number[];
}

/** Windows and their size. */
export interface SizedWindows extends Windows {
  readonly kernel: readonly number[];
}

/** Attributes of `SizedWindows`. */
export const windowAttributes: {
  readonly [K in keyof SizedWindows]: attr.Attribute<SizedWindows[K]>;
} = {
  kernel: attr.ints,
  strides: attr.ints,
  padding: attr.list(attr.dims),
  dilation: attr.ints,
};

/** Refuses windows without an entry for each axis: attributes may come from a file. */
export function checkWindows(
  op: string,
  windows: SizedWindows,
  others: Readonly<Record<string, readonly unknown[]>> = {},
): void {
  const axes = windows.kernel.length;
  perAxis(op, 'kernel', windows.kernel, axes);
  perAxis(op, 'strides', windows.strides, axes);
  perAxis(op, 'dilation', windows.dilation, axes);
  for (const [name, list] of Object.entries({ padding: windows.padding, ...others })) {
    if (list.length === axes && list.every((ends) => attr.dims.accepts(ends) && ends.length === 2)) continue; // prettier-ignore
    throw new ArgumentError(`${name} is not acceptable`, {
      op,
      expected: `${axes} pairs [before, after], one a spatial axis`,
      actual: attr.describe(list),
    });
  }
}

/** The shape of an operand before it is an array. */
export function inputShape(input: Input<Tensor>, op: string): Shape {
  return input instanceof Tensor ? input.type.shape : describeHost(input, op).shape;
}

/** Splits off the last `count` axes, at least one. */
export function splitAxes(op: string, shape: Shape, count: number): readonly [Shape, Shape] {
  if (shape.length < count || count === 0) {
    throw new ShapeError('the rank does not fit', {
      op,
      expected: `rank ${Math.max(count, 1)} or more, with at least one axis to slide over`,
      actual: shapeToString(shape),
    });
  }
  return [shape.slice(0, shape.length - count), shape.slice(shape.length - count)];
}

/** One integer of at least `least` for each axis. */
export function perAxis(
  op: string,
  name: string,
  value: PerAxis,
  axes: number,
  least: number = 1,
): readonly number[] {
  const list: readonly number[] =
    typeof value === 'number' ? Array.from({ length: axes }, () => value) : value;
  const fits =
    Array.isArray(list) &&
    list.length === axes &&
    list.every((entry) => Number.isSafeInteger(entry) && entry >= least);
  if (!fits) {
    throw new ArgumentError(`${name} is not acceptable`, {
      op,
      expected: `an integer of at least ${least}, or ${axes} of them, one a spatial axis`,
      actual: attr.describe(value),
    });
  }
  return list;
}

/** Options with their defaults, for windows of `kernel` over `spatial`. */
export function windowsOf(
  op: string,
  options: WindowOptions,
  spatial: Shape,
  kernel: Shape,
): Windows {
  const axes = spatial.length;
  const strides = perAxis(op, 'strides', options.strides ?? 1, axes);
  const dilation = perAxis(op, 'dilation', options.dilation ?? 1, axes);
  const padding = options.padding ?? 0;
  if (padding !== 'same') return { strides, dilation, padding: explicitPadding(op, padding, axes) };
  return {
    strides,
    dilation,
    padding: spatial.map((size, axis) => {
      const covered = addDim(
        mulDim(subDim(ceilDivDim(size, strides[axis]), 1), strides[axis]),
        reach(kernel[axis], dilation[axis]),
      );
      const total = maxDim(subDim(covered, size), 0);
      const before = floorDivDim(total, 2);
      return [before, subDim(total, before)];
    }),
  };
}

function explicitPadding(
  op: string,
  padding: Exclude<Padding, 'same'>,
  axes: number,
): readonly PaddingPair[] {
  const wrong = (): ArgumentError =>
    new ArgumentError('padding is not acceptable', {
      op,
      expected: `'same', 'valid', an integer of at least 0, ${axes} of them, or ${axes} pairs [before, after]`,
      actual: attr.describe(padding),
    });
  if (padding === 'valid') return Array.from({ length: axes }, () => [0, 0]);
  const list = typeof padding === 'number' ? Array.from({ length: axes }, () => padding) : padding;
  if (!Array.isArray(list) || list.length !== axes) throw wrong();
  return list.map((entry: number | readonly Dim[]): PaddingPair => {
    if (typeof entry === 'number' && entry < 0) throw wrong();
    const ends = typeof entry === 'number' ? [entry, entry] : entry;
    if (!attr.dims.accepts(ends) || ends.length !== 2) throw wrong();
    return ends;
  });
}

/**
 * Refuses padding of a pool that could contain a whole window, which would then have no element: numbers are
 * at most half of a window's extent, as in PyTorch, and each end of a pair is less than the extent.
 */
export function checkPoolPadding(
  op: string,
  kernel: readonly number[],
  padding: Padding,
  dilation: readonly number[] = kernel.map(() => 1),
): void {
  if (typeof padding === 'string') return;
  kernel.forEach((extent, axis) => {
    const entry = typeof padding === 'number' ? padding : padding[axis];
    const span = (extent - 1) * dilation[axis] + 1;
    const isPair = typeof entry !== 'number';
    const most = isPair ? span - 1 : Math.floor(span / 2);
    if (!(isPair ? entry : [entry]).some((end) => typeof end === 'number' && end > most)) return;
    throw new ArgumentError('the padding is too wide for the windows', {
      op,
      expected: `at most ${most} on axis ${axis}, where a window spans ${span}`,
      actual: attr.describe(padding),
      advice: 'pad the array before, with pad, if windows without an element are meant',
    });
  });
}

/** Extent of a dilated window. */
export function reach(kernel: Dim, dilation: number): Dim {
  return addDim(mulDim(subDim(kernel, 1), dilation), 1);
}

/** Number of windows along each axis: `floor((size + padding - reach) / stride) + 1`. */
export function countWindows(
  spatial: Shape,
  kernel: Shape,
  { strides, padding, dilation }: Windows,
): readonly Dim[] {
  return spatial.map((size, axis) => {
    const padded = paddedSize(size, padding[axis]);
    const free = subDim(padded, reach(kernel[axis], dilation[axis]));
    return addDim(floorDivDim(free, strides[axis]), 1);
  });
}

function paddedSize(size: Dim, [before, after]: PaddingPair): Dim {
  return addDim(addDim(size, before), after);
}

/**
 * Number of windows along each axis, with what they require. A `ShapeError` where a window is larger
 * than the padded input; only an empty input may have none.
 */
export function positions(
  op: string,
  spatial: Shape,
  kernel: Shape,
  windows: Windows,
  require: Require,
): readonly Dim[] {
  const counts = countWindows(spatial, kernel, windows);
  spatial.forEach((size, axis) => {
    const ends = windows.padding[axis];
    const padded = paddedSize(size, ends);
    const span = reach(kernel[axis], windows.dilation[axis]);
    const tooLarge = (): Refusal => ({
      op,
      problem: words`a window is larger than the padded input`,
      expected: words`a padded extent of at least ${span}`,
      actual: words`${padded} (${size} and padding ${ends})`,
    });
    // The factor is 0 for an empty input and 1 for any other.
    require(atLeast(mulDim(minDim(size, 1), subDim(padded, span)), 0), tooLarge);
    require(atLeast(counts[axis], 0), tooLarge);
  });
  return counts;
}

/**
 * The padding that gives exactly `count` windows on `size` elements, with `before` given; a negative `after`
 * ignores elements at the end. The division is exact for all symbols, so that inference returns `count`
 * itself.
 */
export function endsFor(
  size: Dim,
  before: Dim,
  kernel: Dim,
  count: Dim,
  stride: number,
  dilation: number,
): PaddingPair {
  const covered = addDim(mulDim(subDim(count, 1), stride), reach(kernel, dilation));
  return [before, subDim(covered, addDim(size, before))];
}

/** Refuses an input of another rank than `axes` spatial axes need. */
export function checkSpatialAxes(op: string, axes: number, x: Input<Tensor>): void {
  const shape = inputShape(x, op);
  if (shape.length === axes + 2) return;
  throw new ShapeError('the rank does not fit', {
    op,
    expected: `rank ${axes + 2}: batch, channels and ${axes} spatial`,
    actual: shapeToString(shape),
  });
}

/**
 * An operator for inputs of `axes` spatial axes, refused otherwise. `general` is the operator for any number of
 * them, which says everything else about it.
 */
export function overSpatialAxes<F extends (x: Input<Tensor>, ...rest: never[]) => unknown>(
  op: string,
  axes: number,
  general: F,
): F & { readonly general: F } {
  const narrowed = (x: Input<Tensor>, ...rest: never[]): unknown => {
    checkSpatialAxes(op, axes, x);
    return general(x, ...rest);
  };
  // Only the rank is checked: parameters and result are those of `general`.
  return Object.assign(narrowed as F, { general });
}

/**
 * Zeros around the spatial axes as operators of ONNX, of widths that may depend on sizes; where they are negative, as
 * many elements are cropped. A convolution of ONNX itself pads by numbers that are not negative.
 */
export function withBorder(
  onnx: OnnxWriter,
  x: OnnxValue,
  type: TensorType,
  padding: readonly PaddingPair[],
): OnnxValue {
  const [low, high] = [0, 1].map((end) => padding.map((ends) => ends[end]));
  const [start, dropped] = [low, high].map((widths) => widths.map((width) => maxDim(subDim(0, width), 0))); // prettier-ignore
  const spatial = type.shape.slice(2);
  const stop = spatial.map((extent, axis) => subDim(extent, dropped[axis]));
  const isCropped = [...start, ...dropped].some((width) => width !== 0);
  const axes = spatial.map((_, axis) => axis + 2);
  const part = isCropped
    ? onnx.node('Slice', [x, onnx.sizes(start), onnx.sizes(stop), onnx.ints(axes)])
    : x;
  const sizes = [...type.shape.slice(0, 2), ...stop.map((end, axis) => subDim(end, start[axis]))];
  const zero = onnx.scalar(type.dtype, 0);
  return axes.reduce<OnnxValue>((inner, axis, k) => {
    const ends = [low[k], high[k]].map((width) => maxDim(width, 0));
    const [first, last] = ends.map((width) =>
      width === 0 ? [] : [onnx.node('Expand', [zero, onnx.sizes(sizes.with(axis, width))])],
    );
    sizes[axis] = ends.reduce<Dim>(addDim, sizes[axis]);
    const parts = [...first, inner, ...last];
    return parts.length === 1 ? inner : onnx.node('Concat', parts, { axis });
  }, part);
}
