import { type Dim, floorDivDim, isStatic, mulDim, sameDim } from '../../../base/dim/index.js';
import { isFloat } from '../../../base/dtype.js';
import { Value } from '../../../ir/program.js';
import { sizesFromElements } from '../../../ops/dynamic/extents.js';
import * as ops from '../../../ops/index.js';
import { alongAxis, constantNumbers, type ImportedNode } from '../node.js';
import { integers } from '../operand.js';
import { computedReals, type KnownReal, knownReals, type Reals } from './reals.js';
import { moves, type ImportRules } from './rule.js';
import { kernelTaps, nearestPlaces, origins, type ResizeSettings, type ResizeTap } from './taps.js';

/** Limit of an axis whose sizes are known, because its taps are listed. */
const longest = 2 ** 20;

/** Limit of positions under a kernel where the size of the axis is not known. */
const mostTaps = 256;

/** A number, or a float64 that a run computes. */
type Real = number | Value;

/** Resizing of one axis. */
interface Axis {
  readonly axis: number;
  readonly from: Dim;
  readonly to: Dim;
  readonly scale: Real;
  readonly region: readonly [Real, Real];
}

/** A node and its operand. */
interface Resized {
  readonly node: ImportedNode;
  readonly x: Value;
  readonly settings: ResizeSettings;
}

/** An axis resampled, with the output positions outside of the operand, for the mode that fills them. */
interface ResampledAxis {
  readonly result: Value;
  readonly outside: Value | null;
}

/** Resamples one axis of the operand: by numbers where all of it is known. */
function resampledAxis(resized: Resized, each: Axis): ResampledAxis {
  const { node, x } = resized;
  const { axis, from, to, scale, region } = each;
  const column = alongAxis(to, axis, x.type.shape.length);
  const { program } = node;
  if (
    isStatic(from) &&
    isStatic(to) &&
    [scale, ...region].every((real) => typeof real === 'number')
  ) {
    const all = (real: KnownReal): readonly number[] => (typeof real === 'number' ? Array<number>(to).fill(real) : real); // prettier-ignore
    return resampled<KnownReal>(resized, each, {
      reals: knownReals,
      at: Array.from({ length: to }, (_, k) => k),
      real: (number) => number as KnownReal,
      places: (real) => program.constant(integers(all(real).map((place) => Math.min(Math.max(place, 0), from - 1)))),
      factors: (real) => program.constant({ type: { dtype: 'float64', shape: column as number[] }, data: Float64Array.from(all(real)) }),
    }); // prettier-ignore
  }
  return resampled<Value>(resized, each, {
    reals: computedReals(node),
    at: node.iota(to, 'float64'),
    real: (number) => asReal(node, number),
    places: (real) => ops.cast(ops.broadcastTo(real, [to]), 'int64'),
    factors: (real) => ops.reshape(ops.broadcastTo(real, [to]), column),
  });
}

/** Numbers of a kind, and values made of them. */
interface Making<T> {
  readonly reals: Reals<T>;
  /** The output positions. */
  readonly at: T;
  real(number: Dim | Real): T;
  places(real: T): Value;
  /** One factor for each output position, along the axis. */
  factors(real: T): Value;
}

function resampled<T>(
  { node, x, settings }: Resized,
  { axis, from, to, scale, region }: Axis,
  { reals, at, real, places, factors }: Making<T>,
): ResampledAxis {
  const { transformation, rounding } = settings;
  const extent = real(from);
  const origin = origins(reals, at, { from: extent, to: real(to), scale: real(scale), region: [real(region[0]), real(region[1])] }, transformation); // prettier-ignore
  if (origin === null)
    throw node.unsupported('no such transformation of coordinates', transformation);
  let taps: readonly ResizeTap<T>[];
  if (settings.mode === 'nearest') {
    const place = nearestPlaces(reals, origin, rounding);
    if (place === null) throw node.unsupported('no such rounding', rounding);
    taps = [{ place, weight: null }];
  } else {
    taps = kernelTaps(reals, origin, extent, antialiasing(node, settings, to, scale), settings);
  }
  const result = taps
    .map(({ place, weight }) => {
      const taken = ops.take(x, places(place), { axis, mode: 'clip' });
      return weight === null ? taken : ops.mul(taken, ops.cast(factors(weight), x.type.dtype));
    })
    .reduce((a, b) => ops.add(a, b));
  if (transformation !== 'tf_crop_and_resize') return { result, outside: null };
  const { add, less, sub, number } = reals;
  const isOutside = add(less(origin, number(0)), less(sub(extent, number(1)), origin));
  return { result, outside: ops.notEqual(factors(isOutside), 0) };
}

/** The scale by which a kernel is widened; null where it is not. An axis that shrinks reads all positions under it. */
function antialiasing(
  node: ImportedNode,
  { antialias }: ResizeSettings,
  to: Dim,
  scale: Real,
): number | null {
  if (!antialias) return null;
  if (typeof scale !== 'number') {
    const decides = [2, 3].find((index) => node.has(index) && node.dataIfKnown(index) === null);
    const why = 'the scale decides how many positions an antialiased one reads';
    throw decides === undefined ? node.unsized(why) : node.unknown(decides, why);
  }
  const shrink = Math.min(scale, 1);
  const isLong = isStatic(to) ? to / shrink > longest : 1 / shrink > mostTaps;
  if (isLong) throw node.refuse('a scale or size is out of range');
  return scale;
}

/** A number or a size as float64. */
function asReal(node: ImportedNode, real: Dim | Real): Value {
  if (typeof real === 'number') return node.scalar(real, 'float64');
  if (real instanceof Value) return real;
  return ops.cast(ops.dimLike(node.scalar(0, 'int64'), real, { dtype: 'int64' }), 'float64');
}

/** The elements of a vector of floats. */
function realsOf(node: ImportedNode, index: number): readonly Real[] {
  node.expectRank(index, 1);
  const data = node.dataIfKnown(index);
  if (data !== null) return constantNumbers(data);
  const all = ops.cast(node.value(index), 'float64');
  return Array.from({ length: node.axesIn(index) }, (_, k) => ops.slice(all, k));
}

/** A float64 that a run computes, rounded down, as a size. */
function sizeBelow(real: Value): Dim {
  return sizesFromElements(ops.cast(ops.reshape(ops.floor(real), [1]), 'int64'))[0];
}

/** A size times a scale, rounded down. */
function scaled(node: ImportedNode, from: Dim, scale: Real): Dim {
  if (typeof scale === 'number') {
    if (isStatic(from)) return Math.floor(from * scale);
    // Halves, quarters and eighths of a size are sizes.
    const divisor = [1, 2, 4, 8].find((each) => Number.isInteger(scale * each));
    if (divisor !== undefined && scale <= 64)
      return floorDivDim(mulDim(from, scale * divisor), divisor);
  }
  return sizeBelow(ops.mul(asReal(node, from), asReal(node, scale)));
}

/** The axes to resize, by the scales or sizes of the node. */
function axesOf(node: ImportedNode, shape: readonly Dim[]): readonly Axis[] {
  const rank = shape.length;
  const isOld = node.proto.opType === 'Upsample' || node.version < 11;
  const axes = node.attributes.ints('axes', null)?.map((axis) => node.axis(axis, rank)) ?? shape.map((_, axis) => axis); // prettier-ignore
  const [scalesAt, sizesAt] = isOld ? [1, -1] : [2, 3];
  const has = (index: number): boolean =>
    index >= 0 && node.has(index) && node.shape(index)[0] !== 0;
  const region = !isOld && has(1) ? realsOf(node, 1) : [];
  const scales = has(scalesAt) ? realsOf(node, scalesAt) : node.attributes.floats('scales', null);
  const sizes = scales === null && has(sizesAt) ? node.sizes(sizesAt) : null;
  if (scales === null && sizes === null) throw node.refuse('neither scales nor sizes are given');
  if ((scales ?? sizes)!.length !== axes.length) throw node.refuse('there is not one scale or size for each axis'); // prettier-ignore
  const policy = node.attributes.string('keep_aspect_ratio_policy', 'stretch');
  const extents = axes.map((axis) => shape[axis]);
  const ratios = scales ?? sizes!.map((size, k) => ratio(node, size, extents[k]));
  const factors = sizes === null || policy === 'stretch' ? ratios : fitting(node, ratios, policy);
  return axes.map((axis, k): Axis => {
    const [from, scale] = [extents[k], factors[k]];
    const to =
      sizes === null
        ? scaled(node, from, scale)
        : policy === 'stretch'
          ? sizes[k]
          : rounded(node, from, scale);
    const isInRange = !isStatic(to) || (to >= 0 && to <= longest);
    if ((typeof scale === 'number' && !(scale > 0)) || !isInRange) throw node.refuse('a scale or size is out of range'); // prettier-ignore
    return { axis, from, to, scale, region: [region[k] ?? 0, region[k + axes.length] ?? 1] };
  });
}

function ratio(node: ImportedNode, to: Dim, from: Dim): Real {
  if (isStatic(to) && isStatic(from)) return to / from;
  return sameDim(to, from) ? 1 : ops.div(asReal(node, to), asReal(node, from));
}

/** The least or greatest ratio for all axes, which keeps that between them. */
function fitting(node: ImportedNode, ratios: readonly Real[], policy: string): readonly Real[] {
  const isLeast = policy === 'not_larger';
  const numbers = ratios.filter((each) => typeof each === 'number');
  if (numbers.length === ratios.length) {
    const one = isLeast ? Math.min(...numbers) : Math.max(...numbers);
    return ratios.map(() => one);
  }
  const one = ratios
    .map((each) => asReal(node, each))
    .reduce((a, b) => (isLeast ? ops.minimum(a, b) : ops.maximum(a, b)));
  return ratios.map(() => one);
}

function rounded(node: ImportedNode, from: Dim, scale: Real): Dim {
  if (typeof scale === 'number' && isStatic(from)) return Math.floor(scale * from + 0.5);
  return sizeBelow(ops.add(ops.mul(asReal(node, from), asReal(node, scale)), 0.5));
}

function resized(x: Value, node: ImportedNode): Value {
  const { shape, dtype } = x.type;
  const mode = node.attributes.string('mode', 'nearest');
  const isOld = node.proto.opType === 'Upsample' || node.version < 11;
  const settings: ResizeSettings = {
    mode: mode === 'bilinear' ? 'linear' : mode,
    transformation: isOld ? 'asymmetric' : node.attributes.string('coordinate_transformation_mode', 'half_pixel'), // prettier-ignore
    rounding: isOld ? 'floor' : node.attributes.string('nearest_mode', 'round_prefer_floor'),
    cubic: node.attributes.float('cubic_coeff_a', -0.75),
    excludesOutside: node.attributes.flag('exclude_outside'),
    antialias: node.attributes.flag('antialias'),
  };
  if (!['nearest', 'linear', 'cubic'].includes(settings.mode)) throw node.unsupported('no such mode', mode); // prettier-ignore
  const isWhole = !isFloat(dtype) && settings.mode !== 'nearest';
  const isCropped = settings.transformation === 'tf_crop_and_resize';
  let y = isWhole ? ops.cast(x, 'float32') : x;
  let outside: Value | null = null;
  for (const each of axesOf(node, shape)) {
    if (sameDim(each.from, each.to) && each.scale === 1 && !isCropped) continue;
    const made = resampledAxis({ node, x: y, settings }, each);
    y = made.result;
    if (made.outside !== null) outside = outside === null ? made.outside : ops.logicalOr(outside, made.outside); // prettier-ignore
  }
  const back = isWhole ? ops.cast(ops.round(y), dtype) : y;
  if (outside === null) return back;
  return ops.cast(ops.where(outside, node.attributes.float('extrapolation_value', 0), back), dtype);
}

export const resizing: ImportRules = {
  Resize: moves(resized),
  Upsample: moves(resized),
};
