import {
  addDim, ceilDivDim, type Dim, floorDivDim, isStatic, mulDim, elementCount, subDim,
} from '../../../base/dim/index.js'; // prettier-ignore
import * as e from '../../../loop/language/build.js';
import type { Stmt } from '../../../loop/language/nodes.js';
import { ravel } from '../../../ops/loops.js';
import { accumulatorOf } from '../../../ops/sums.js';
import type { KernelContext } from '../../../ops/declare/lowering.js';
import type { ConvTransposeAttributes } from '../../../ops/contraction/convolution/nests.js';
import { contents, placed } from '../product/contents.js';
import { type Prepared, rowMajor, type Stride } from '../product/offsets.js';
import { contractStrided, grouped, type SpacedAxis } from '../product/strided.js';
import { convolveLoops } from '../windowed/index.js';
import { windowedOf } from '../windowed/operands.js';
import type { Windowed } from '../windowed/spec.js';

/*
 * The transposed convolution as contractions. Every result element gathers the inputs whose windows cover
 * it: with i the place of the result, r the tap and q the input, q * stride = i + before - r * dilation.
 *
 * Which taps reach i depends on i modulo the stride only, so each remainder (phase) is a dense
 * convolution of its own over fewer taps, and no product with a zero is ever made. Where the taps are not
 * known when the kernel is built, the input is spread out with zeros between instead.
 */

/** Limit of phases, with which code size grows; beyond it the input is dilated with zeros. */
const mostPhases = 9;

/** The result indices `i = start + step * t` along one axis that use the same taps. */
interface Phase extends SpacedAxis {
  /** Number of places. */
  readonly count: Dim;
  /** Taps `firstTap + tapStep * u`, for `u` below `taps`. */
  readonly taps: Dim;
  readonly firstTap: number;
  readonly tapStep: number;
  /** The field is read at `offset + t - reach * u`. */
  readonly offset: Dim;
  readonly reach: number;
}

/** One axis: its phases, and the layout of the input in the field that they read. */
interface AxisPlan {
  readonly phases: readonly Phase[];
  readonly step: number;
  readonly shift: Dim;
  readonly extent: Dim;
}

export function convTransposeLoops(context: KernelContext<ConvTransposeAttributes>): Stmt {
  const {
    attributes: { strides, before, dilation, groups, size },
    inputs: [x, w],
    inputTypes: [{ shape: inputShape }, { shape: weightShape }],
    outputTypes: [{ dtype }],
  } = context;
  const [images, outputs] = inputShape;
  const [, channels, ...kernel] = weightShape;
  const windows = windowsOf(context);
  if (windows !== null) return convolveLoops(windows);
  const scalar = accumulatorOf(dtype);
  const plans = planAxes(strides, before, dilation, kernel, size);
  const [imageStep, channelStep, ...steps] = rowMajor([
    images,
    outputs,
    ...plans.map(({ extent }) => extent),
  ]);
  const tapSteps = rowMajor(kernel);
  const perGroup = floorDivDim(outputs, groups);
  const taps = elementCount(kernel);
  const inner = mulDim(channels, taps);
  const weights = contents(context, 'weights', w, weightShape, scalar);
  const field = placed(context, 'field', x, inputShape, scalar, {
    extents: plans.map(({ extent }) => extent),
    steps: plans.map(({ step }) => step),
    shifts: plans.map(({ shift }) => shift),
  });
  const gather = (phases: readonly Phase[]): Stmt =>
    contractStrided({
      context,
      scalar,
      a: {
        contents: ready(weights),
        base: total(phases.map(({ firstTap }, axis) => mulDim(firstTap, tapSteps[axis]))),
        batch: [
          { extent: images, weight: 0 },
          { extent: groups, weight: mulDim(perGroup, inner) },
        ],
        outer: [{ extent: channels, weight: taps }],
        inner: [
          { extent: perGroup, weight: inner },
          ...phases.map((phase, axis): Stride => ({
            extent: phase.taps,
            weight: mulDim(phase.tapStep, tapSteps[axis]),
          })),
        ],
      },
      b: {
        contents: ready(field),
        base: total(phases.map(({ offset }, axis) => mulDim(offset, steps[axis]))),
        batch: [
          { extent: images, weight: imageStep },
          { extent: groups, weight: mulDim(perGroup, channelStep) },
        ],
        outer: phases.map(({ count }, axis): Stride => ({ extent: count, weight: steps[axis] })),
        inner: [
          { extent: perGroup, weight: channelStep },
          ...phases.map((phase, axis): Stride => ({
            extent: phase.taps,
            weight: mulDim(-phase.reach, steps[axis]),
          })),
        ],
      },
      lead: (batch, row) => grouped(context, batch, row, images, groups, channels),
      columns: phases.map(({ count }) => count),
      ...(phases.every(({ step }) => step === 1) ? {} : { spread: phases }),
    });
  const combinations = plans.reduce<readonly (readonly Phase[])[]>(
    (found, { phases }) => found.flatMap((chosen) => phases.map((phase) => [...chosen, phase])),
    [[]],
  );
  return e.block(...weights.prepare, ...field.prepare, ...combinations.map(gather));
}

/** Stride 1: a convolution by flipped weights, from outputs to channels. */
function windowsOf(context: KernelContext<ConvTransposeAttributes>): Windowed | null {
  const { strides, before, dilation, groups, size } = context.attributes;
  const [[, outputs, ...count], [, channels, ...kernel]] = context.inputTypes.map(
    ({ shape }) => shape,
  );
  if (!kernel.every(isStatic) || strides.some((stride) => stride > 1)) return null;
  const inputs = floorDivDim(outputs, groups);
  const extents = [groups, inputs, channels, ...kernel].map((dim) => context.extent(dim));
  return windowedOf({
    context,
    groups,
    inputs,
    outputs: channels,
    axes: kernel.map((taps, axis) => ({
      size: count[axis],
      count: size[axis],
      taps,
      stride: 1,
      dilation: dilation[axis],
      before: subDim((taps - 1) * dilation[axis], before[axis]),
    })),
    weight: (group, output, input, tap) => {
      const turned = tap.map((at, axis) => e.sub(e.i32(kernel[axis] - 1), at));
      return ravel([group, input, output, ...turned], extents);
    },
    isFlat: false,
  });
}

/** Drops the preparation, which has been done. */
function ready({ at }: Prepared): Prepared {
  return { prepare: [], at };
}

function total(parts: readonly Dim[]): Dim {
  return parts.reduce(addDim, 0);
}

function planAxes(
  strides: readonly number[],
  before: readonly Dim[],
  dilation: readonly number[],
  kernel: readonly Dim[],
  size: readonly Dim[],
): readonly AxisPlan[] {
  const count = strides.reduce((product, stride) => product * stride, 1);
  return size.map((extent, axis) => {
    const [stride, low, taps] = [strides[axis], before[axis], kernel[axis]];
    const hasPhases = stride > 1 && count <= mostPhases && isStatic(low) && isStatic(taps);
    return hasPhases
      ? phasesOf(stride, low, dilation[axis], taps, extent)
      : spreadOut(stride, low, dilation[axis], taps, extent);
  });
}

/** One phase of stride 1 over an input with `stride - 1` zeros between neighbors. */
function spreadOut(
  stride: number,
  before: Dim,
  dilation: number,
  kernel: Dim,
  size: Dim,
): AxisPlan {
  const overhang = mulDim(subDim(kernel, 1), dilation);
  const phase: Phase = {
    start: 0,
    step: 1,
    count: size,
    taps: kernel,
    firstTap: 0,
    tapStep: 1,
    offset: overhang,
    reach: dilation,
  };
  return {
    phases: [phase],
    step: stride,
    shift: subDim(overhang, before),
    extent: addDim(size, overhang),
  };
}

function phasesOf(
  stride: number,
  before: number,
  dilation: number,
  kernel: number,
  size: Dim,
): AxisPlan {
  const found = Array.from({ length: stride }, (_, start) => {
    const reaches = (tap: number): boolean => (start + before - tap * dilation) % stride === 0;
    const taps = Array.from({ length: kernel }, (_unused, tap) => tap).filter(reaches);
    return { start, taps, places: taps.map((tap) => (start + before - tap * dilation) / stride) };
  });
  const places = found.flatMap((phase) => phase.places);
  const [least, most] = [Math.min(0, ...places), Math.max(0, ...places)];
  const phases = found.map(({ start, taps, places: [first = 0, second = first] }): Phase => {
    const [firstTap = 0, secondTap = firstTap + 1] = taps;
    return {
      start,
      step: stride,
      count: ceilDivDim(subDim(size, start), stride),
      taps: taps.length,
      firstTap,
      tapStep: secondTap - firstTap,
      offset: first - least,
      reach: first - second,
    };
  });
  return {
    phases,
    step: 1,
    shift: -least,
    extent: addDim(ceilDivDim(size, stride), most - least),
  };
}
