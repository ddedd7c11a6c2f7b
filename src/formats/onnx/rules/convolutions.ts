import { addDim, type Dim, floorDivDim, isStatic, maxDim, mulDim, elementCount, subDim } from '../../../base/dim/index.js'; // prettier-ignore
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import { cornersAt } from './sampling.js';
import { rule, type ImportRules } from './rule.js';
import { knownPadding, windowsFromNode, windowsOfAnySize } from './windows.js';

/** Reshapes one number for each channel to broadcast over the spatial axes. */
export function perChannel(bias: Value, axes: number): Value {
  return ops.reshape(bias, [
    elementCount(bias.type.shape),
    ...Array.from({ length: axes }, () => 1),
  ]);
}

/** A convolution of the operands of a node. */
export function convolved(node: ImportedNode, x: Value, w: Value): Value {
  const spatial = x.type.shape.slice(2);
  const { strides, dilation, padding } = windowsOfAnySize(node, spatial, w.type.shape.slice(2));
  return ops.conv(x, w, { strides, dilation, padding, groups: node.attributes.int('group', 1) });
}

function withBias(node: ImportedNode, index: number, y: Value): Value {
  const bias = node.optional(index);
  return bias === null ? y : ops.add(y, perChannel(bias, y.type.shape.length - 2));
}

/** Transposed convolution. Output sizes may be given; then they determine the padding. */
function transposed(node: ImportedNode): Value {
  node.expectRank(1, Math.max(node.rank(0), 3));
  const [x, w] = [node.value(0), node.value(1)];
  const count = x.type.shape.slice(2);
  const axes = count.length;
  const mode = node.attributes.string('auto_pad', 'NOTSET');
  const isSame = mode === 'SAME_UPPER' || mode === 'SAME_LOWER';
  const zeros = Array.from({ length: axes }, () => 0);
  const { kernel, strides, dilation, padding } = windowsFromNode(
    node,
    count,
    w.type.shape.slice(2),
  );
  const extra = node.attributes.ints('output_padding', null) ?? zeros;
  const wanted = node.attributes.ints('output_shape', null)?.slice(-axes) ?? null;
  const placed = count.map((windows, axis): { before: Dim; size: Dim } => {
    const reach = (kernel[axis] - 1) * dilation[axis] + 1;
    const full = addDim(addDim(mulDim(subDim(windows, 1), strides[axis]), reach), extra[axis] ?? 0);
    const size = wanted?.[axis] ?? (isSame ? mulDim(windows, strides[axis]) : null);
    if (size === null) {
      const [before, after] = padding[axis];
      return { before, size: subDim(subDim(full, before), after) };
    }
    const total = maxDim(subDim(full, size), 0);
    const half = floorDivDim(total, 2);
    return { before: mode === 'SAME_UPPER' ? half : subDim(total, half), size };
  });
  const y = ops.convTranspose(x, w, {
    strides,
    dilation,
    padding: placed.map(({ before }) => [before, 0]),
    size: placed.map(({ size }) => size),
    groups: node.attributes.int('group', 1),
  });
  return withBias(node, 2, y);
}

/** Causal convolution: only earlier positions count. State before the input may be given, and is returned. */
function causal(node: ImportedNode): readonly Value[] {
  for (const index of [0, 1, 3]) node.expectRank(index, 3);
  const [x, w] = [node.value(0), node.value(1)];
  const [images, channels] = x.type.shape;
  const width = w.type.shape[2];
  const behind =
    node.optional(3) ?? node.filled([images, channels, subDim(width, 1)], 0, x.type.dtype);
  const whole = ops.concat([behind, x], 2);
  if (!isStatic(channels)) throw node.unsized('the number of channels is not known');
  const made = withBias(node, 2, ops.conv(whole, w, { groups: channels }));
  const activation = node.attributes.string('activation', 'none');
  const length = whole.type.shape[2];
  const state = ops.slice(whole, ':', ':', [subDim(length, subDim(width, 1)), length]);
  return [activation === 'none' ? made : ops.silu(made), state];
}

/** Col2Im: puts the elements of windows back, adding where windows overlap. */
function columnsToImage(node: ImportedNode): Value {
  node.expectRank(0, 3);
  const x = node.value(0);
  const size = node.sizes(1);
  const kernel = node.numbers(2);
  const axes = size.length;
  const zeros = Array.from({ length: axes }, () => 0);
  const strides = node.attributes.ints('strides', null) ?? zeros.map(() => 1);
  const dilation = node.attributes.ints('dilations', null) ?? zeros.map(() => 1);
  const pads = node.attributes.ints('pads', null) ?? [...zeros, ...zeros];
  const padding = zeros.map((_, axis): [number, number] => [pads[axis], pads[axis + axes]]);
  const count = size.map((extent, axis) => {
    const reach = (kernel[axis] - 1) * dilation[axis] + 1;
    const free = subDim(addDim(extent, pads[axis] + pads[axis + axes]), reach);
    return addDim(floorDivDim(free, strides[axis]), 1);
  });
  const [images, rows] = x.type.shape;
  const channels = floorDivDim(rows, elementCount(kernel));
  const windows = ops.reshape(x, [images, channels, ...kernel, ...count]);
  return ops.slidingWindowsAdjoint(windows, size, { kernel, strides, dilation, padding });
}

/** Deformable convolution: each element of each window is sampled at an offset position. */
function deformable(node: ImportedNode): Value {
  const rank = node.rank(0);
  for (const index of [0, 1, 2, 4]) node.expectRank(index, Math.max(rank, 3));
  const [x, w, offsets] = [node.value(0), node.value(1), node.value(2)];
  const spatial = x.type.shape.slice(2);
  const windows = windowsFromNode(node, spatial, w.type.shape.slice(2));
  const { kernel, strides, dilation } = windows;
  const padding = knownPadding(node, windows);
  const [images, channels] = x.type.shape;
  const places = offsets.type.shape.slice(2);
  const axes = spatial.length;
  const groups = node.attributes.int('group', 1);
  const offsetGroups = node.attributes.int('offset_group', 1);
  const taps = elementCount(kernel) as number;
  const count = elementCount(places);
  if (!isStatic(channels)) throw node.unsized('the number of channels is not known');
  // [N, G, taps, axes, ...places]
  const moved = ops.reshape(offsets, [images, offsetGroups, taps, axes, count]);
  const coordinates = Array.from({ length: axes }, (_, axis) => {
    const start = ops.sub(ops.mul(node.indices(places, axis, 'float32'), strides[axis]), padding[axis][0]); // prettier-ignore
    const window = ops.reshape(ops.broadcastTo(start, places), [1, count]);
    const within = ops.mul(node.indices(kernel, axis, 'float32'), dilation[axis]);
    const tap = ops.reshape(ops.broadcastTo(within, kernel), [taps, 1]);
    return ops.add(ops.slice(moved, ':', ':', ':', axis), ops.add(window, tap));
  });
  // The elements of a group share their positions.
  const grouped = ops.reshape(x, [
    elementCount([images, offsetGroups]),
    channels / offsetGroups,
    ...spatial,
  ]);
  const flat = coordinates.map((each) => ops.reshape(each, [elementCount([images, offsetGroups]), elementCount([taps, count])])); // prettier-ignore
  const sampled = ops.reshape(cornersAt(grouped, flat), [images, offsetGroups, channels / offsetGroups, taps, count]); // prettier-ignore
  const mask = node.optional(4);
  const weighed = mask === null ? sampled : ops.mul(sampled, ops.reshape(mask, [images, offsetGroups, 1, taps, count])); // prettier-ignore
  const columns = ops.reshape(weighed, [
    images,
    groups,
    elementCount([channels / groups, taps]),
    count,
  ]);
  const [filters] = w.type.shape;
  const weights = ops.reshape(w, [groups, floorDivDim(filters, groups), elementCount([channels / groups, taps])]); // prettier-ignore
  const y = ops.reshape(ops.matmul(weights, columns), [images, filters, ...places]);
  return withBias(node, 3, y);
}

export const convolutions: ImportRules = {
  Conv: rule((node) => withBias(node, 2, convolved(node, node.value(0), node.value(1)))),
  ConvTranspose: rule(transposed),
  CausalConvWithState: rule(causal),
  Col2Im: rule(columnsToImage),
  DeformConv: rule(deformable),
};
