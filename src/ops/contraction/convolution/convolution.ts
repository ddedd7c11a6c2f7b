import * as attr from '../../../base/attributes/attribute.js';
import {
  addDim,
  type Dim,
  floorDivDim,
  isStatic,
  maxDim,
  minDim,
  mulDim,
  subDim,
} from '../../../base/dim/index.js';
import { words } from '../../../ir/requirement.js';
import type { Tensor } from '../../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../../declare/declare.js';
import { checkShape } from '../../declare/infer.js';
import { requireMeeting } from '../../declare/meeting.js';
import {
  convNest,
  type ConvTransposeAttributes,
  convTransposeNest,
  type ConvWeightGradientAttributes,
  convWeightGradientNest,
} from './nests.js';
import { convolvedRows, inGroups, whole } from './rows.js';
import {
  batches,
  channels,
  channelsOfTransposed,
  checkRanks,
  type ConvOptions,
  type ConvTransposeOptions,
  operandWords,
  paddingFor,
  placement,
  requireGroups,
} from './sizes.js';
import { perAxis, positions, reach, inputShape, windowsOf, withBorder } from '../window.js';
import { reshape } from '../../movement/reshape.js';
import { swapaxes, transpose } from '../../movement/transpose.js';
import { zerosLike } from '../../movement/fill.js';

/*
 * Convolution is linear in its input and in its weights, so are its two adjoints, and the three are each
 * other's gradients: a set closed under differentiation of any order.
 */

export interface ConvWeightGradientOptions extends ConvOptions {
  /** The spatial extents of the weights. */
  readonly kernel: readonly Dim[];
}

/** `f(x, w, options?)`. */
export type Conv = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  w: Input<T>,
  options?: ConvOptions,
) => T;

/** `f(x, w, options?)`. */
export type ConvTranspose = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  w: Input<T>,
  options?: ConvTransposeOptions,
) => T;

const shared = { strides: attr.ints, dilation: attr.ints, groups: attr.int };

/**
 * Convolution (without flipping, as in every deep-learning library) over any number of spatial axes:
 * `x` is `[N, C, ...size]`, `w` is `[O, C / groups, ...kernel]`, the result
 * `[N, O, ...floor((size + padding - dilation * (kernel - 1) - 1) / strides) + 1]`.
 *
 * Computed as a matrix product of the weights with the windows, which are addressed in place
 * (implicit GEMM). Throws a `ShapeError` when ranks, channels or groups do not fit, or a window is
 * larger than the padded input; an `ArgumentError` for options that are not acceptable.
 */
export const conv: OperatorFunction<Conv> = operator({
  name: 'conv',
  options: { at: 2, names: ['strides', 'padding', 'dilation', 'groups'] },
  family: 'contraction',
  attributes: { ...shared, padding: attr.list(attr.dims) },
  method: false,
  call: (x, w, options = {}) => {
    const spatial = inputShape(x, 'conv').slice(2);
    const kernel = inputShape(w, 'conv').slice(2);
    const [groups] = perAxis('conv', 'groups', options.groups ?? 1, 1);
    return {
      inputs: [x, w],
      attributes: { ...windowsOf('conv', options, spatial, kernel), groups },
    };
  },
  infer: ({ inputs: [x, w], attributes: { groups, ...windows }, require }) => {
    checkRanks('conv', x.shape, w.shape);
    requireMeeting([x.shape, w.shape], channels('conv', x.shape, w.shape, groups), require);
    requireGroups('conv', w.shape[0], groups, operandWords(x.shape, w.shape, groups), require);
    const count = positions('conv', x.shape.slice(2), w.shape.slice(2), windows, require);
    return [{ dtype: x.dtype, shape: [x.shape[0], w.shape[0], ...count] }];
  },
  meetings: ([x, w], { groups }) =>
    x.length < 2 || w.length < 2 ? [] : [channels('conv', x, w, groups)],
  gradient: ({ inputs: [x, w], grads: [g], needs, attributes: options }) => [
    needs[0] ? convTranspose(g!, w, { ...options, size: x.type.shape.slice(2) }) : null,
    needs[1] ? convWeightGradient(x, g!, { ...options, kernel: w.type.shape.slice(2) }) : null,
  ],
  lowering: { kind: 'kernel', kernel: convNest },
  batch: convolvedRows(
    {
      alone: [
        [whole(0), whole(0)],
        [inGroups(0), inGroups(1)],
      ],
      both: [1, 0, 1],
      summed: [inGroups(1), whole(1)],
    },
    (x, w, options) => conv(x, w, options),
  ),
  onnx: ({ onnx, inputs: [x, w], inputTypes: [type], attributes }) => {
    const { strides, padding, dilation, groups } = attributes;
    const windows = { strides, dilations: dilation, group: groups };
    const pads = [0, 1].flatMap((end) => padding.map((ends) => ends[end]));
    if (pads.every((pad) => isStatic(pad) && pad >= 0)) {
      return onnx.node('Conv', [x, w], { ...windows, pads: pads.filter(isStatic) });
    }
    return onnx.node('Conv', [withBorder(onnx, x, type, padding), w], windows);
  },
  samples: [
    { args: [tensor(['n', 4, 5]), tensor([2, 4, 3])] },
    {
      args: [
        tensor(['n', 4, 'h', 7]),
        tensor([6, 2, 3, 2]),
        { strides: [2, 1], padding: [1, 2], dilation: [1, 2], groups: 2 },
      ],
      least: { h: 1 },
    },
    {
      args: [tensor([1, 'c', 5, 'w']), tensor([3, 'c', 2, 3]), { padding: 'same', strides: 2 }],
    },
    { args: [tensor(['n', 2, 2, 3, 'w']), tensor([3, 2, 1, 2, 1]), { padding: [0, 1, 0] }] },
  ],
});

/**
 * The transposed convolution, which is the adjoint of `conv` with the same weights and options: `x` is
 * `[N, O, ...count]`, `w` is `[O, C / groups, ...kernel]`, the result `[N, C, ...size]` with
 * `size = (count - 1) * strides - padding + dilation * (kernel - 1) + 1 + outputPadding`. Padding
 * `'same'` gives `size = count * strides`.
 *
 * Throws a `ShapeError` when ranks, channels or groups do not fit, an `ArgumentError` for options that
 * are not acceptable.
 */
export const convTranspose: OperatorFunction<ConvTranspose> = operator({
  name: 'convTranspose',
  options: { at: 2, names: ['strides', 'padding', 'dilation', 'groups', 'outputPadding', 'size'] },
  family: 'contraction',
  attributes: { ...shared, before: attr.dims, size: attr.dims },
  method: false,
  call: (x, w, options = {}) => {
    const count = inputShape(x, 'convTranspose').slice(2);
    const kernel = inputShape(w, 'convTranspose').slice(2);
    const [groups] = perAxis('convTranspose', 'groups', options.groups ?? 1, 1);
    return {
      inputs: [x, w],
      attributes: { ...placement('convTranspose', options, count, kernel), groups },
    };
  },
  infer: ({ inputs: [x, w], attributes: { groups, size }, require }) => {
    const op = 'convTranspose';
    checkRanks(op, x.shape, w.shape, size.length);
    requireMeeting([x.shape, w.shape], channelsOfTransposed(op, x.shape, w.shape, groups), require);
    requireGroups(op, x.shape[1], groups, operandWords(x.shape, w.shape, groups), require);
    checkShape(op, size, require);
    return [{ dtype: x.dtype, shape: [x.shape[0], mulDim(w.shape[1], groups), ...size] }];
  },
  meetings: ([x, w], { groups }) =>
    x.length < 2 || w.length < 1 ? [] : [channelsOfTransposed('convTranspose', x, w, groups)],
  gradient: ({ inputs: [x, w], grads: [g], needs, attributes: { before, size, ...options } }) => {
    const kernel = w.type.shape.slice(2);
    const padding = paddingFor(size, kernel, x.type.shape.slice(2), { before, ...options });
    return [
      needs[0] ? conv(g!, w, { ...options, padding }) : null,
      needs[1] ? convWeightGradient(g!, x, { ...options, padding, kernel }) : null,
    ];
  },
  lowering: { kind: 'kernel', kernel: convTransposeNest },
  batch: convolvedRows<ConvTransposeAttributes>(
    {
      alone: [
        [whole(0), whole(0)],
        [whole(1), inGroups(1)],
      ],
      both: [1, 0, 1],
      summed: [inGroups(1), inGroups(0)],
    },
    (x, w, { before, size, ...options }) => {
      const padding = paddingFor(size, w.type.shape.slice(2), x.type.shape.slice(2), { before, ...options }); // prettier-ignore
      return convTranspose(x, w, { ...options, padding, size });
    },
  ),
  onnx: ({ onnx, inputs, inputTypes, outputTypes: [type], attributes }) => {
    const { strides, dilation, groups, before, size } = attributes;
    const [count, kernel] = inputTypes.map(({ shape }) => shape.slice(2));
    const full = count.map((places, axis) =>
      addDim(mulDim(subDim(places, 1), strides[axis]), reach(kernel[axis], dilation[axis])),
    );
    const after = full.map((extent, axis) => subDim(subDim(extent, before[axis]), size[axis]));
    const windows = { strides, dilations: dilation, group: groups };
    const pads = [...before, ...after];
    if (pads.every((pad) => isStatic(pad) && pad >= 0)) {
      return onnx.node('ConvTranspose', inputs, { ...windows, pads: pads.filter(isStatic) });
    }
    // The complete result, to be cropped or extended.
    const whole = onnx.node('ConvTranspose', inputs, windows);
    const axes = onnx.ints(size.map((_, axis) => axis + 2));
    const ends = before.map((start, axis) => addDim(start, size[axis]));
    const part = onnx.node('Slice', [whole, onnx.sizes(before), onnx.sizes(ends), axes]);
    const missing = size.map((extent, axis) => {
      const there = maxDim(minDim(subDim(full[axis], before[axis]), extent), 0);
      return subDim(extent, there);
    });
    if (missing.every((extent) => extent === 0)) return part;
    const shape = [...type.shape.slice(0, 2), ...size.map((extent, axis) => subDim(extent, missing[axis]))]; // prettier-ignore
    return withBorder(
      onnx,
      part,
      { ...type, shape },
      missing.map((extent) => [0, extent]),
    );
  },
  samples: [
    { args: [tensor(['n', 4, 5]), tensor([4, 2, 3])] },
    {
      args: [
        tensor(['n', 4, 'h', 3]),
        tensor([4, 3, 3, 2]),
        { strides: [2, 3], padding: 1, outputPadding: [1, 0], dilation: [1, 2], groups: 2 },
      ],
      least: { h: 1 },
    },
    { args: [tensor([1, 'c', 4, 'w']), tensor(['c', 3, 3, 1]), { padding: 'same', strides: 2 }] },
    { args: [tensor(['n', 2, 2, 1, 3]), tensor([2, 1, 2, 2, 1])] },
  ],
});

/**
 * @internal The gradient of `conv` with respect to its weights, as an operator in its own right: `x` is
 * `[N, C, ...size]`, `g`, the gradient of the convolution's result, `[N, O, ...count]`; the result is
 * `[O, C / groups, ...kernel]`. Linear in both; with `conv` and `convTranspose` it makes a set closed
 * under differentiation.
 */
export const convWeightGradient: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    g: Input<T>,
    options: ConvWeightGradientOptions,
  ) => T
> = operator({
  name: 'convWeightGradient',
  options: { at: 2, names: ['kernel', 'strides', 'padding', 'dilation', 'groups'] },
  family: 'contraction',
  attributes: { ...shared, before: attr.dims, kernel: attr.dims },
  method: false,
  call: (x, g, options) => {
    const op = 'convWeightGradient';
    const { kernel } = options;
    const { padding, ...windows } = windowsOf(op, options, inputShape(x, op).slice(2), kernel);
    const [groups] = perAxis(op, 'groups', options.groups ?? 1, 1);
    return {
      inputs: [x, g],
      attributes: { ...windows, before: padding.map(([low]) => low), groups, kernel },
    };
  },
  infer: ({ inputs: [x, g], attributes: { groups, kernel }, require }) => {
    const op = 'convWeightGradient';
    checkRanks(op, x.shape, g.shape, kernel.length);
    requireMeeting([x.shape, g.shape], batches(op, x.shape, g.shape), require);
    for (const { shape } of [x, g])
      requireGroups(op, shape[1], groups, words`${shape[1]}, groups ${groups}`, require);
    checkShape(op, kernel, require);
    return [{ dtype: x.dtype, shape: [g.shape[1], floorDivDim(x.shape[1], groups), ...kernel] }];
  },
  meetings: ([x, g]) => (x.length < 1 || g.length < 1 ? [] : [batches('convWeightGradient', x, g)]),
  gradient: ({ inputs: [x, y], grads: [g], needs, attributes: { before, kernel, ...options } }) => {
    const [size, count] = [x, y].map(({ type }) => type.shape.slice(2));
    const padding = paddingFor(size, kernel, count, { before, ...options });
    return [
      needs[0] ? convTranspose(y, g!, { ...options, padding, size }) : null,
      needs[1] ? conv(x, g!, { ...options, padding }) : null,
    ];
  },
  lowering: { kind: 'kernel', kernel: convWeightGradientNest },
  batch: convolvedRows<ConvWeightGradientAttributes>(
    {
      alone: [
        [inGroups(1), whole(1)],
        [inGroups(1), inGroups(0)],
      ],
      both: [1, 1, 0],
      summed: [whole(0), whole(0)],
    },
    (x, g, { before, kernel, ...options }) => {
      const [size, count] = [x, g].map(({ type }) => type.shape.slice(2));
      const padding = paddingFor(size, kernel, count, { before, ...options });
      return convWeightGradient(x, g, { ...options, padding, kernel });
    },
  ),
  onnx: {
    // Batch and channels are exchanged, and so are strides and dilation.
    composed: ({ inputs: [x, g], outputTypes: [{ shape }], attributes }) => {
      const { before, kernel, strides, dilation, groups } = attributes;
      const [batch, channels, ...size] = x.type.shape;
      const count = g.type.shape.slice(2);
      if ([batch, ...size, ...count].includes(0)) return [zerosLike(x, { shape })];
      const perGroup = floorDivDim(channels, groups);
      const split = reshape(x, [batch, groups, perGroup, ...size]);
      const order = [2, 1, 0, ...size.map((_, axis) => axis + 3)];
      const turned = reshape(transpose(split, order), [perGroup, mulDim(batch, groups), ...size]);
      const after = size.map((extent, axis) => {
        const covered = reach(count[axis], strides[axis]);
        const wanted = addDim(mulDim(subDim(kernel[axis], 1), dilation[axis]), covered);
        return subDim(subDim(wanted, before[axis]), extent);
      });
      const result = conv(turned, swapaxes(g, 0, 1), {
        strides: dilation,
        dilation: strides,
        groups,
        padding: before.map((low, axis) => [low, after[axis]] as const),
      });
      return [swapaxes(result, 0, 1)];
    },
  },
  samples: [
    { args: [tensor(['n', 4, 5]), tensor(['n', 2, 3]), { kernel: [3] }] },
    {
      args: [
        tensor(['n', 4, 5, 'w']),
        tensor(['n', 6, 3, 'w']),
        { kernel: [3, 1], strides: [2, 1], padding: [1, 0], groups: 2 },
      ],
    },
  ],
});
