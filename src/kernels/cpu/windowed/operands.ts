import { type Dim, isStatic } from '../../../base/dim/index.js';
import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import { ravel } from '../../../ops/loops.js';
import { computeScalar, type KernelContext } from '../../../ops/declare/lowering.js';
import { contents } from '../product/contents.js';
import { accumulatorOf } from '../../../ops/sums.js';
import { type Axis, isPlainProduct, type SpatialIndex, threeAxes, type Windowed } from './spec.js';

/** A convolution over `[N, C, ...size]` with weights of a custom layout. */
export interface Convolution {
  readonly context: KernelContext<unknown>;
  readonly groups: number;
  /** Channels of one group of the input and of the result. */
  readonly inputs: Dim;
  readonly outputs: Dim;
  readonly axes: readonly Axis[];
  /** The flat position of a weight. */
  weight(group: Expr, output: Expr, input: Expr, tap: readonly Expr[]): Expr;
  /** True when that is row-major in `[groups, outputs, inputs, taps]`. */
  readonly isFlat: boolean;
}

/**
 * The convolution in general form, or null where that form has no advantage: without windows, over more than
 * three axes, with extents that are certainly 0.
 */
export function windowedOf(convolution: Convolution): Windowed | null {
  const { context, groups, inputs, outputs, axes, weight, isFlat } = convolution;
  const isSome = (dim: Dim): boolean => !isStatic(dim) || dim > 0;
  const fits =
    axes.length <= 3 &&
    [inputs, outputs, ...axes.flatMap(({ size, count }) => [size, count])].every(isSome) &&
    axes.every(({ taps }) => taps > 0);
  if (!fits || isPlainProduct(axes)) return null;
  const [x, w] = context.inputs;
  const [xType, wType] = context.inputTypes;
  const [sink] = context.outputs;
  const scalar = accumulatorOf(context.outputTypes[0].dtype);
  const own = (place: SpatialIndex): readonly Expr[] => place.slice(3 - axes.length);
  const channel = (group: Expr, index: Expr, perGroup: Dim): Expr =>
    groups === 1 ? index : e.add(e.mul(group, context.extent(perGroup)), index);
  // Computed operands are computed once; those in memory are read in place.
  const read = x.buffer === null ? contents(context, 'input', x, xType.shape, scalar) : null;
  const extents = xType.shape.map((dim) => context.extent(dim));
  const weights = contents(context, 'kernel', w, wType.shape, scalar);
  return {
    context,
    scalar,
    images: xType.shape[0],
    groups,
    inputs,
    outputs,
    axes: threeAxes(axes),
    input: {
      prepare: read?.prepare ?? [],
      at: (image, at, place) => {
        const index = [image, at, ...own(place)];
        return read === null ? e.cast(scalar, x.at(index)) : read.at(ravel(index, extents));
      },
    },
    weights: {
      prepare: weights.prepare,
      at: (group, output, input, tap) => weights.at(weight(group, output, input, own(tap))),
      flat: isFlat ? weights.at : null,
    },
    store: (image, group, output, place, value) =>
      sink.store(
        [image, channel(group, output, outputs), ...own(place)],
        e.cast(computeScalar(sink.dtype), value),
      ),
  };
}
