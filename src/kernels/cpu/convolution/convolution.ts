import {
  addDim, boundsOf, type Dim, floorDivDim, isStatic, mulDim, elementCount, subDim,
} from '../../../base/dim/index.js'; // prettier-ignore
import * as e from '../../../loop/language/build.js';
import type { Stmt } from '../../../loop/language/nodes.js';
import { ravel } from '../../../ops/loops.js';
import { accumulatorOf } from '../../../ops/sums.js';
import type { KernelContext } from '../../../ops/declare/lowering.js';
import { contents, placed } from '../product/contents.js';
import { rowMajor } from '../product/offsets.js';
import { contractStrided, grouped, groupedRow } from '../product/strided.js';
import type {
  ConvAttributes,
  ConvWeightGradientAttributes,
  WindowAttributes,
} from '../../../ops/contraction/convolution/nests.js';
import { reach } from '../../../ops/contraction/window.js';
import { convolveLoops } from '../windowed/index.js';
import { windowedOf } from '../windowed/operands.js';
import type { Windowed } from '../windowed/spec.js';

/*
 * Convolution and its weights' gradient as contractions. Each function is a table: which axes of which array
 * the batch, the rows, the columns and the inner index run over. Notation: images N, outputs O, channels C
 * (those of one group, G groups), `kernel` and `spatial` extents, `field` for the array that windows
 * slide over.
 */

/** Per image and group: weights `[O/G, C * kernel]` by windows `[C * kernel, spatial]`. */
export function convLoops(context: KernelContext<ConvAttributes>): Stmt {
  const {
    attributes: { strides, padding, dilation, groups },
    inputs: [x, w],
    inputTypes: [{ shape: inputShape }, { shape: weightShape }],
    outputTypes: [{ shape: outputShape, dtype }],
  } = context;
  const [images, outputs, ...spatial] = outputShape;
  const [, channels, ...kernel] = weightShape;
  const before = padding.map(([low]) => low);
  const windows = windowsOf(context, before);
  if (windows !== null) return convolveLoops(windows);
  const scalar = accumulatorOf(dtype);
  const extents = fieldExtents(inputShape.slice(2), spatial, kernel, before, strides, dilation);
  const [imageStep, channelStep, ...steps] = rowMajor([
    images,
    mulDim(channels, groups),
    ...extents,
  ]);
  const perGroup = floorDivDim(outputs, groups);
  const inner = elementCount([channels, ...kernel]);
  return contractStrided({
    context,
    scalar,
    a: {
      contents: contents(context, 'weights', w, weightShape, scalar),
      batch: [
        { extent: images, weight: 0 },
        { extent: groups, weight: mulDim(perGroup, inner) },
      ],
      outer: [{ extent: perGroup, weight: inner }],
      inner: [{ extent: inner, weight: 1 }],
    },
    b: {
      contents: placed(context, 'field', x, inputShape, scalar, {
        extents,
        steps: strides.map(() => 1),
        shifts: before,
      }),
      batch: [
        { extent: images, weight: imageStep },
        { extent: groups, weight: mulDim(channels, channelStep) },
      ],
      outer: spatial.map((extent, axis) => ({
        extent,
        weight: mulDim(strides[axis], steps[axis]),
      })),
      inner: [
        { extent: channels, weight: channelStep },
        ...kernel.map((extent, axis) => ({ extent, weight: mulDim(dilation[axis], steps[axis]) })),
      ],
    },
    lead: (batch, row) => grouped(context, batch, row, images, groups, perGroup),
    columns: spatial,
  });
}

/** The convolution by dedicated loops, where these apply. */
function windowsOf(
  context: KernelContext<WindowAttributes>,
  before: readonly Dim[],
): Windowed | null {
  const { strides, dilation, groups } = context.attributes;
  const [input, weights] = context.inputTypes.map(({ shape }) => shape);
  const [, outputs, ...count] = context.outputTypes[0].shape;
  const kernel = weights.slice(2);
  if (!kernel.every(isStatic)) return null;
  const { extent } = context;
  const perGroup = floorDivDim(outputs, groups);
  const taps = kernel.map((size) => e.i32(size));
  return windowedOf({
    context,
    groups,
    inputs: weights[1],
    outputs: perGroup,
    axes: kernel.map((size, axis) => ({
      size: input[axis + 2],
      count: count[axis],
      taps: size,
      stride: strides[axis],
      dilation: dilation[axis],
      before: before[axis],
    })),
    weight: (group, output, channel, tap) =>
      ravel(
        [group, output, channel, ...tap],
        [e.i32(groups), extent(perGroup), extent(weights[1]), ...taps],
      ),
    isFlat: true,
  });
}

/** Per group: output gradients `[O/G, N * count]` by windows `[N * count, C * kernel]`. */
export function convWeightGradientLoops(
  context: KernelContext<ConvWeightGradientAttributes>,
): Stmt {
  const {
    attributes: { strides, before, dilation, groups, kernel },
    inputs: [x, g],
    inputTypes: [{ shape: inputShape }, { shape: gradientShape }],
    outputTypes: [{ dtype, shape: weightShape }],
  } = context;
  const [images, outputs, ...count] = gradientShape;
  const channels = weightShape[1];
  const scalar = accumulatorOf(dtype);
  const extents = fieldExtents(inputShape.slice(2), count, kernel, before, strides, dilation);
  const [imageStep, channelStep, ...steps] = rowMajor([...inputShape.slice(0, 2), ...extents]);
  const perGroup = floorDivDim(outputs, groups);
  const windows = elementCount(count);
  return contractStrided({
    context,
    scalar,
    a: {
      contents: contents(context, 'gradient', g, gradientShape, scalar),
      batch: [{ extent: groups, weight: mulDim(perGroup, windows) }],
      outer: [{ extent: perGroup, weight: windows }],
      inner: [
        { extent: images, weight: mulDim(outputs, windows) },
        { extent: windows, weight: 1 },
      ],
    },
    b: {
      contents: placed(context, 'field', x, inputShape, scalar, {
        extents,
        steps: strides.map(() => 1),
        shifts: before,
      }),
      batch: [{ extent: groups, weight: mulDim(channels, channelStep) }],
      outer: [
        { extent: channels, weight: channelStep },
        ...kernel.map((extent, axis) => ({ extent, weight: mulDim(dilation[axis], steps[axis]) })),
      ],
      inner: [
        { extent: images, weight: imageStep },
        ...count.map((extent, axis) => ({ extent, weight: mulDim(strides[axis], steps[axis]) })),
      ],
    },
    lead: (group, row) => [groupedRow(context, group, row, groups, perGroup)],
    columns: weightShape.slice(1),
  });
}

/**
 * The extents of the padded input that contains every window; the input's own where every window provably
 * lies in it, so that it is read in place.
 */
function fieldExtents(
  size: readonly Dim[],
  count: readonly Dim[],
  kernel: readonly Dim[],
  before: readonly Dim[],
  strides: readonly number[],
  dilation: readonly number[],
): readonly Dim[] {
  return size.map((extent, axis) => {
    const covered = addDim(
      mulDim(subDim(count[axis], 1), strides[axis]),
      reach(kernel[axis], dilation[axis]),
    );
    const inPlace = before[axis] === 0 && boundsOf(subDim(extent, covered)).min >= 0;
    return inPlace ? extent : covered;
  });
}
