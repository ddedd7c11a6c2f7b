import { type Dim, isStatic } from '../../../base/dim/index.js';
import { isFloat } from '../../../base/dtype.js';
import type { Value } from '../../../ir/program.js';
import type { ConstantData } from '../../../ir/types.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import { integers } from '../operand.js';
import { moves, type ImportRules } from './rule.js';

/** Limit of an axis, because its taps are listed. */
const longest = 2 ** 20;

/** Resampling of one axis. */
interface Axis {
  readonly axis: number;
  readonly from: number;
  readonly to: number;
  readonly scale: number;
  /** The resized region as fractions of the axis. */
  readonly region: readonly [number, number];
}

/** For each output position: its input positions and their weights. */
interface Taps {
  readonly places: readonly (readonly number[])[];
  readonly weights: readonly (readonly number[])[];
  /** Output positions outside of the operand, for the mode that fills them. */
  readonly outside: readonly boolean[];
}

interface Settings {
  readonly mode: string;
  readonly transformation: string;
  readonly rounding: string;
  readonly cubic: number;
  readonly excludesOutside: boolean;
  readonly antialias: boolean;
}

/** Input coordinate of an output position. */
function originOf(
  at: number,
  { from, to, scale, region }: Axis,
  transformation: string,
): number | null {
  const length = scale * from;
  switch (transformation) {
    case 'half_pixel':
      return (at + 0.5) / scale - 0.5;
    case 'half_pixel_symmetric':
      return (from / 2) * (1 - to / length) + (at + 0.5) / scale - 0.5;
    case 'pytorch_half_pixel':
      return to > 1 ? (at + 0.5) / scale - 0.5 : 0;
    case 'align_corners':
      return length === 1 ? 0 : (at * (from - 1)) / (length - 1);
    case 'asymmetric':
      return at / scale;
    case 'tf_crop_and_resize': {
      const [start, end] = region;
      if (length === 1) return ((start + end) * (from - 1)) / 2;
      return start * (from - 1) + (at * (end - start) * (from - 1)) / (length - 1);
    }
    default:
      return null;
  }
}

/** Offsets from the floor of a coordinate, and their weights. */
function kernelAt(
  part: number,
  scale: number,
  settings: Settings,
): readonly (readonly [number, number])[] {
  const { mode, cubic, antialias } = settings;
  // Antialiasing widens the kernel when the output is smaller.
  const shrink = antialias ? Math.min(scale, 1) : 1;
  const reach = mode === 'cubic' ? 2 : 1;
  const first = Math.floor(-reach / shrink) + 1;
  const last = Math.max(reach + 1, reach + 1 - first) - (antialias ? 0 : 1);
  const end = antialias ? 1 - first : last;
  const taps: [number, number][] = [];
  for (let k = first; k <= end; k++) {
    const distance = Math.abs((k - part) * shrink);
    taps.push([k, mode === 'cubic' ? cubicWeight(distance, cubic) : Math.max(1 - distance, 0)]);
  }
  return taps;
}

/** Source: Keys, Cubic Convolution Interpolation for Digital Image Processing, 1981. */
function cubicWeight(x: number, a: number): number {
  if (x <= 1) return (a + 2) * x ** 3 - (a + 3) * x ** 2 + 1;
  return x < 2 ? a * x ** 3 - 5 * a * x ** 2 + 8 * a * x - 4 * a : 0;
}

function nearest(origin: number, rounding: string): number | null {
  const low = Math.floor(origin);
  const part = origin - low;
  if (part === 0) return low;
  switch (rounding) {
    case 'round_prefer_floor':
      return part <= 0.5 ? low : low + 1;
    case 'round_prefer_ceil':
      return part < 0.5 ? low : low + 1;
    case 'floor':
      return low;
    case 'ceil':
      return low + 1;
    default:
      return null;
  }
}

function tapsOf(node: ImportedNode, each: Axis, settings: Settings): Taps {
  const places: number[][] = [];
  const weights: number[][] = [];
  const outside: boolean[] = [];
  const held = (at: number): number => Math.min(Math.max(at, 0), each.from - 1);
  for (let at = 0; at < each.to; at++) {
    const origin = originOf(at, each, settings.transformation);
    if (origin === null) throw node.unsupported('no such transformation of coordinates', settings.transformation); // prettier-ignore
    outside.push(settings.transformation === 'tf_crop_and_resize' && (origin < 0 || origin > each.from - 1)); // prettier-ignore
    if (settings.mode === 'nearest') {
      const place = nearest(origin, settings.rounding);
      if (place === null) throw node.unsupported('no such rounding', settings.rounding);
      places.push([held(place)]);
      weights.push([1]);
      continue;
    }
    const low = Math.floor(origin);
    const taps = kernelAt(origin - low, each.scale, settings).map(
      ([k, weight]): [number, number] => {
        const place = low + k;
        const counts = !settings.excludesOutside || (place >= 0 && place < each.from);
        return [held(place), counts ? weight : 0];
      },
    );
    const total = taps.reduce((sum, [, weight]) => sum + weight, 0);
    const norm = settings.excludesOutside || settings.antialias ? total : 1;
    places.push(taps.map(([place]) => place));
    weights.push(taps.map(([, weight]) => weight / norm));
  }
  return { places, weights, outside };
}

/** Resamples one axis of the operand. */
function resampledAxis(
  node: ImportedNode,
  x: Value,
  { axis }: Axis,
  { places, weights }: Taps,
): Value {
  const count = places[0]?.length ?? 0;
  const terms = Array.from({ length: count }, (_, k) => {
    const at = node.region.constant(integers(places.map((each) => each[k])));
    const taken = ops.take(x, at, { axis, mode: 'clip' });
    if (weights.every((each) => each[k] === 1)) return taken;
    const shape = x.type.shape.map((_, j) => (j === axis ? places.length : 1));
    const factors = node.region.constant(
      floats(
        weights.map((each) => each[k]),
        shape,
      ),
    );
    return ops.mul(taken, ops.cast(factors, x.type.dtype));
  });
  return terms.reduce((a, b) => ops.add(a, b));
}

function floats(values: readonly number[], shape: readonly number[]): ConstantData {
  return { type: { dtype: 'float32', shape }, data: Float32Array.from(values) };
}

/** The axes to resample, by the scales or sizes of the node. */
function axesOf(node: ImportedNode, shape: readonly Dim[]): readonly Axis[] {
  const rank = shape.length;
  const isOld = node.proto.opType === 'Upsample' || node.version < 11;
  const axes = node.attributes.ints('axes', null)?.map((axis) => node.axis(axis, rank)) ?? shape.map((_, axis) => axis); // prettier-ignore
  const [scalesAt, sizesAt] = isOld ? [1, -1] : [2, 3];
  const has = (index: number): boolean =>
    index >= 0 && node.has(index) && node.shape(index)[0] !== 0;
  const region = !isOld && has(1) ? node.numbers(1) : [];
  const scales = has(scalesAt) ? node.numbers(scalesAt) : node.attributes.floats('scales', null);
  const sizes = scales === null && has(sizesAt) ? node.numbers(sizesAt) : null;
  if (scales === null && sizes === null) throw node.refuse('neither scales nor sizes are given');
  if ((scales ?? sizes)!.length !== axes.length) throw node.refuse('there is not one scale or size for each axis'); // prettier-ignore
  const policy = node.attributes.string('keep_aspect_ratio_policy', 'stretch');
  const known = axes.map((axis): number => {
    const size = shape[axis];
    if (isStatic(size)) return size;
    throw node.unsized('a size of the operand is not known');
  });
  let factors = scales ?? sizes!.map((size, k) => size / known[k]);
  if (sizes !== null && policy !== 'stretch') {
    const one = policy === 'not_larger' ? Math.min(...factors) : Math.max(...factors);
    factors = factors.map(() => one);
  }
  return axes.map((axis, k): Axis => {
    const from = known[k];
    const to =
      sizes === null
        ? Math.floor(from * factors[k])
        : policy === 'stretch'
          ? sizes[k]
          : Math.floor(factors[k] * from + 0.5);
    if (!(factors[k] > 0) || !(to >= 0 && to <= longest)) throw node.refuse('a scale or size is out of range'); // prettier-ignore
    // An axis that shrinks reads all positions under a kernel.
    const under = node.attributes.flag('antialias') ? to / Math.min(factors[k], 1) : to;
    if (under > longest) throw node.refuse('a scale or size is out of range');
    const part: readonly [number, number] = [region[k] ?? 0, region[k + axes.length] ?? 1];
    return { axis, from, to, scale: factors[k], region: part };
  });
}

function resized(x: Value, node: ImportedNode): Value {
  const { shape, dtype } = x.type;
  const mode = node.attributes.string('mode', 'nearest');
  const isOld = node.proto.opType === 'Upsample' || node.version < 11;
  const settings: Settings = {
    mode: mode === 'bilinear' ? 'linear' : mode,
    transformation: isOld ? 'asymmetric' : node.attributes.string('coordinate_transformation_mode', 'half_pixel'), // prettier-ignore
    rounding: isOld ? 'floor' : node.attributes.string('nearest_mode', 'round_prefer_floor'),
    cubic: node.attributes.float('cubic_coeff_a', -0.75),
    excludesOutside: node.attributes.flag('exclude_outside'),
    antialias: node.attributes.flag('antialias'),
  };
  if (!['nearest', 'linear', 'cubic'].includes(settings.mode)) throw node.unsupported('no such mode', mode); // prettier-ignore
  const isWhole = !isFloat(dtype) && settings.mode !== 'nearest';
  let y = isWhole ? ops.cast(x, 'float32') : x;
  let outside: Value | null = null;
  for (const each of axesOf(node, shape)) {
    const isCropped = settings.transformation === 'tf_crop_and_resize';
    if (each.from === each.to && each.scale === 1 && !isCropped) continue;
    const taps = tapsOf(node, each, settings);
    if (each.to === 0) throw node.unsupported('a size of the result is zero');
    y = resampledAxis(node, y, each, taps);
    if (!taps.outside.includes(true)) continue;
    const mask = node.region.constant({
      type: { dtype: 'bool', shape: shape.map((_, k) => (k === each.axis ? each.to : 1)) },
      data: Uint8Array.from(taps.outside, Number),
    });
    outside = outside === null ? mask : ops.logicalOr(outside, mask);
  }
  const back = isWhole ? ops.cast(ops.round(y), dtype) : y;
  if (outside === null) return back;
  return ops.cast(ops.where(outside, node.attributes.float('extrapolation_value', 0), back), dtype);
}

export const resizing: ImportRules = {
  Resize: moves(resized),
  Upsample: moves(resized),
};
