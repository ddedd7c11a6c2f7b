import { type Dim, elementCount } from '../../../base/dim/index.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import { rule, type ImportRules } from './rule.js';
import { insideOnly, sampled, type Tap } from './sampling.js';

/** The border at which an image is reflected, along one axis. */
interface Border {
  readonly least: number;
  readonly greatest: Value;
}

function borderOf(at: Value, extent: Dim, alignCorners: boolean): Border {
  const size = ops.dimLike(at, extent);
  return alignCorners
    ? { least: 0, greatest: ops.sub(size, 1) }
    : { least: -0.5, greatest: ops.sub(size, 0.5) };
}

/** A coordinate reflected at both ends until it lies between them. */
function reflected(at: Value, { least, greatest }: Border): Value {
  const span = ops.sub(greatest, least);
  const away = ops.abs(ops.sub(at, least));
  const double = ops.maximum(ops.mul(span, 2), 1e-9);
  const within = ops.sub(away, ops.mul(ops.floor(ops.div(away, double)), double));
  return ops.add(ops.sub(span, ops.abs(ops.sub(within, span))), least);
}

/** Taps along one axis of a grid. */
function tapsAlong(
  x: Value,
  axis: number,
  given: Value,
  { mode, padding, alignCorners }: { mode: string; padding: string; alignCorners: boolean },
): readonly Tap[] {
  const extent = x.type.shape[axis + 2];
  const size = ops.dimLike(given, extent);
  const spread = alignCorners
    ? ops.mul(ops.div(ops.add(given, 1), 2), ops.sub(size, 1))
    : ops.div(ops.sub(ops.mul(ops.add(given, 1), size), 1), 2);
  const border = borderOf(given, extent, alignCorners);
  const rounded = mode === 'nearest' ? ops.round(spread) : spread;
  const isCubic = mode === 'cubic';
  const coordinate = isCubic ? rounded : placed(rounded, padding, border, size);
  const tap = (at: Value, weight: Value): Tap => {
    if (padding === 'zeros') return insideOnly(x, axis, at, weight);
    const inside = padding === 'reflection' ? ops.round(reflected(at, border)) : at;
    const held = ops.maximum(ops.minimum(inside, ops.sub(size, 1)), 0);
    return { at: ops.cast(held, 'int64'), weight };
  };
  if (mode === 'nearest') return [tap(ops.round(coordinate), ops.onesLike(coordinate))];
  const low = ops.floor(coordinate);
  const part = ops.sub(coordinate, low);
  if (!isCubic) return [tap(low, ops.sub(1, part)), tap(ops.add(low, 1), part)];
  return [-1, 0, 1, 2].map((k) => tap(ops.add(low, k), cubic(ops.abs(ops.sub(part, k)), k)));
}

/** Moves an outside coordinate inside according to the padding mode; `zeros` leaves it. */
function placed(at: Value, padding: string, border: Border, size: Value): Value {
  const isOutside = ops.logicalOr(ops.less(at, border.least), ops.greater(at, border.greatest));
  if (padding === 'border') {
    const held = ops.maximum(ops.minimum(at, ops.sub(size, 1)), 0);
    return ops.where(isOutside, held, at);
  }
  return padding === 'reflection' ? ops.where(isOutside, reflected(at, border), at) : at;
}

/** Keys' kernel with a = -0.75 at a distance: within 1 for the inner taps, from 1 to 2 for the outer ones. */
function cubic(x: Value, tap: number): Value {
  const a = -0.75;
  const times = (y: Value, factor: number, term: number): Value =>
    ops.add(ops.mul(y, factor), term);
  if (tap === 0 || tap === 1) {
    return ops.add(ops.mul(ops.mul(times(x, a + 2, -(a + 3)), x), x), 1);
  }
  return times(ops.mul(times(ops.mul(times(x, a, -5 * a), x), 1, 8 * a), x), 1, -4 * a);
}

const modes: Readonly<Record<string, string>> = {
  bilinear: 'linear',
  linear: 'linear',
  nearest: 'nearest',
  bicubic: 'cubic',
  cubic: 'cubic',
};

/** GridSample: elements at coordinates from -1 to 1, the last axis first. */
function gridSample(node: ImportedNode): Value {
  const x = node.value(0);
  const grid = ops.cast(node.value(1), x.type.dtype);
  const mode = modes[node.attributes.string('mode', 'linear')];
  const padding = node.attributes.string('padding_mode', 'zeros');
  if (mode === undefined)
    throw node.unsupported('no such mode', node.attributes.string('mode', ''));
  if (!['zeros', 'border', 'reflection'].includes(padding)) throw node.unsupported('no such padding', padding); // prettier-ignore
  const alignCorners = node.attributes.flag('align_corners');
  const [images, ...places] = grid.type.shape.slice(0, -1);
  const axes = x.type.shape.length - 2;
  if (axes < 1 || grid.type.shape.at(-1) !== axes)
    throw node.refuse('the grid does not fit the image');
  const taps = Array.from({ length: axes }, (_, axis) => {
    const along = ops.reshape(ops.slice(grid, '...', axes - 1 - axis), [
      images,
      elementCount(places),
    ]);
    return tapsAlong(x, axis, along, { mode, padding, alignCorners });
  });
  return ops.reshape(sampled(x, taps), [images, x.type.shape[1], ...places]);
}

/** AffineGrid: a grid for `GridSample` by an affine map of the output positions. */
function affineGrid(node: ImportedNode): Value {
  node.expectRank(0, 3);
  const theta = node.value(0);
  const size = node.sizes(1);
  const alignCorners = node.attributes.flag('align_corners');
  const [images, , ...spatial] = size;
  const { dtype } = theta.type;
  const axes = spatial.length;
  const lines = spatial.map((extent, axis) => {
    const numbers = node.indices(spatial, axis, dtype);
    const length = ops.dimLike(numbers, extent);
    const line = alignCorners
      ? ops.sub(ops.div(ops.mul(numbers, 2), ops.maximum(ops.sub(length, 1), 1)), 1)
      : ops.sub(ops.div(ops.add(ops.mul(numbers, 2), 1), length), 1);
    return ops.broadcastTo(line, spatial);
  });
  const ones = node.filled(spatial, 1, dtype);
  const points = ops.reshape(ops.stack([...lines.toReversed(), ones], -1), [
    elementCount(spatial),
    axes + 1,
  ]);
  const grid = ops.matmul(points, ops.swapaxes(theta, 1, 2));
  return ops.reshape(grid, [images, ...spatial, axes]);
}

/** RoiAlign: averages, or maxima, of sample points in the bins of regions. */
function alignedRegions(node: ImportedNode): Value {
  node.expectRank(0, 4);
  node.expectRank(1, 2);
  node.expectRank(2, 1);
  const [x, boxes, batches] = [node.value(0), node.value(1), node.value(2)];
  const mode = node.attributes.string('mode', 'avg');
  const height = node.attributes.int('output_height', 1);
  const width = node.attributes.int('output_width', 1);
  const ratio = node.attributes.int('sampling_ratio', 0);
  const scale = node.attributes.float('spatial_scale', 1);
  const otherwise = node.version < 16 ? 'output_half_pixel' : 'half_pixel';
  const offset = node.attributes.string('coordinate_transformation_mode', otherwise) === 'half_pixel' ? 0.5 : 0; // prettier-ignore
  const [regions] = boxes.type.shape;
  if (ratio < 1)
    throw node.unsupported('the number of points depends on the regions', 'sampling_ratio 0');
  const corner = (k: number): Value => ops.sub(ops.mul(ops.slice(boxes, ':', k), scale), offset);
  const [left, top, right, bottom] = [0, 1, 2, 3].map(corner);
  const span = (from: Value, to: Value): Value => {
    const length = ops.sub(to, from);
    return offset === 0 ? ops.maximum(length, 1) : length;
  };
  const lines = (from: Value, to: Value, bins: number): Value => {
    const points = bins * ratio;
    const steps = ops.div(ops.add(node.iota(points, x.type.dtype), 0.5), points);
    return ops.add(ops.mul(ops.expandDims(span(from, to), 1), steps), ops.expandDims(from, 1));
  };
  const [rows, columns] = [height * ratio, width * ratio];
  const all = [regions, rows, columns];
  const flat = (each: Value): Value =>
    ops.reshape(ops.broadcastTo(each, all), [regions, rows * columns]);
  const ys = flat(ops.expandDims(lines(top, bottom, height), 2));
  const xs = flat(ops.expandDims(lines(left, right, width), 1));
  const images = ops.take(x, batches, { axis: 0, mode: 'clip' });
  const taps = [ys, xs].map((at, axis): readonly Tap[] => {
    const size = ops.dimLike(at, x.type.shape[axis + 2]);
    const isInside = ops.logicalAnd(ops.greaterEqual(at, -1), ops.lessEqual(at, size));
    const held = ops.maximum(ops.minimum(at, ops.sub(size, 1)), 0);
    const low = ops.floor(held);
    const part = ops.sub(held, low);
    const high = ops.minimum(ops.add(low, 1), ops.sub(size, 1));
    const weight = (each: Value): Value => ops.cast(ops.where(isInside, each, 0), x.type.dtype);
    return [
      { at: ops.cast(low, 'int64'), weight: weight(ops.sub(1, part)) },
      { at: ops.cast(high, 'int64'), weight: weight(part) },
    ];
  });
  const channels = x.type.shape[1];
  if (mode === 'max')
    return greatestCorner(images, taps, [regions, channels, height, width], ratio);
  const points = ops.reshape(sampled(images, taps), [
    regions,
    channels,
    height,
    ratio,
    width,
    ratio,
  ]);
  return ops.mean(points, [3, 5]);
}

/** The maximum over the four corners of a point instead of their sum. */
function greatestCorner(
  images: Value,
  taps: readonly (readonly Tap[])[],
  [regions, channels, height, width]: readonly Dim[],
  ratio: number,
): Value {
  const corners = taps[0].flatMap((row) =>
    taps[1].map((column) => sampled(images, [[row], [column]])),
  );
  const best = corners.reduce((a, b) => ops.maximum(a, b));
  return ops.max(ops.reshape(best, [regions, channels, height, ratio, width, ratio]), [3, 5]);
}

export const resampling: ImportRules = {
  GridSample: rule(gridSample),
  AffineGrid: rule(affineGrid),
  RoiAlign: rule(alignedRegions),
};
