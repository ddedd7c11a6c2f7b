import type { Reals } from './reals.js';

/** Resampling of one axis. */
export interface Resampling<T> {
  readonly from: T;
  readonly to: T;
  readonly scale: T;
  /** The resized region as fractions of the axis. */
  readonly region: readonly [T, T];
}

/** Options of the operator. */
export interface ResizeSettings {
  readonly mode: string;
  readonly transformation: string;
  readonly rounding: string;
  readonly cubic: number;
  readonly excludesOutside: boolean;
  readonly antialias: boolean;
}

/** One input position for each output position, which may lie outside of the axis, and its weight; null for 1. */
export interface ResizeTap<T> {
  readonly place: T;
  readonly weight: T | null;
}

/** Input coordinates of output positions; null where there is no such transformation. */
export function origins<T>(
  reals: Reals<T>,
  at: T,
  { from, to, scale, region: [start, end] }: Resampling<T>,
  transformation: string,
): T | null {
  const { number, add, sub, mul, div, less, select } = reals;
  const [one, half] = [number(1), number(0.5)];
  const last = sub(from, one);
  const length = mul(scale, from);
  const centered = sub(div(add(at, half), scale), half);
  // An axis of one element has no last one to align.
  const isLonger = add(less(length, one), less(one, length));
  const spread = (span: T): T => div(mul(at, span), sub(length, one));
  switch (transformation) {
    case 'half_pixel':
      return centered;
    case 'half_pixel_symmetric':
      return add(mul(mul(from, half), sub(one, div(to, length))), centered);
    case 'pytorch_half_pixel':
      return select(less(one, to), centered, number(0));
    case 'align_corners':
      return select(isLonger, spread(last), number(0));
    case 'asymmetric':
      return div(at, scale);
    case 'tf_crop_and_resize':
      return select(
        isLonger,
        add(mul(start, last), spread(mul(sub(end, start), last))),
        mul(mul(add(start, end), last), half),
      );
    default:
      return null;
  }
}

/** The positions nearest to coordinates; null where there is no such rounding. */
export function nearestPlaces<T>(
  { number, add, sub, floor, less }: Reals<T>,
  origin: T,
  rounding: string,
): T | null {
  const low = floor(origin);
  const part = sub(origin, low);
  const half = number(0.5);
  switch (rounding) {
    case 'round_prefer_floor':
      return add(low, less(half, part));
    case 'round_prefer_ceil':
      return add(low, sub(number(1), less(part, half)));
    case 'floor':
      return low;
    case 'ceil':
      return add(low, less(number(0), part));
    default:
      return null;
  }
}

/**
 * The positions under a kernel around coordinates. Antialiasing widens the kernel when the output is smaller, by a
 * factor that is known.
 */
export function kernelTaps<T>(
  reals: Reals<T>,
  origin: T,
  from: T,
  factor: number | null,
  { mode, cubic, excludesOutside }: ResizeSettings,
): readonly ResizeTap<T>[] {
  const { number, add, sub, mul, div, abs, floor, less } = reals;
  const low = floor(origin);
  const part = sub(origin, low);
  const shrink = factor === null ? 1 : Math.min(factor, 1);
  const reach = mode === 'cubic' ? 2 : 1;
  const first = Math.floor(-reach / shrink) + 1;
  const end = factor === null ? reach : 1 - first;
  const taps = Array.from({ length: end - first + 1 }, (_, k) => {
    const offset = number(first + k);
    const place = add(low, offset);
    const distance = mul(abs(sub(offset, part)), number(shrink));
    const weight = mode === 'cubic' ? cubicWeight(reals, distance, cubic) : atLeastZero(reals, sub(number(1), distance)); // prettier-ignore
    if (!excludesOutside) return { place, weight };
    const isInside = mul(sub(number(1), less(place, number(0))), less(place, from));
    return { place, weight: mul(weight, isInside) };
  });
  if (!excludesOutside && factor === null) return taps;
  const total = taps.map(({ weight }) => weight).reduce(add);
  return taps.map(({ place, weight }) => ({ place, weight: div(weight, total) }));
}

function atLeastZero<T>({ number, less, select }: Reals<T>, x: T): T {
  return select(less(x, number(0)), number(0), x);
}

/** Source: Keys, Cubic Convolution Interpolation for Digital Image Processing, 1981. */
function cubicWeight<T>({ number, add, mul, less, select }: Reals<T>, x: T, a: number): T {
  const polynomial = (...coefficients: readonly number[]): T =>
    coefficients.map(number).reduce((sum, coefficient) => add(mul(sum, x), coefficient));
  const outer = select(less(x, number(2)), polynomial(a, -5 * a, 8 * a, -4 * a), number(0));
  return select(less(number(1), x), outer, polynomial(a + 2, -(a + 3), 0, 1));
}
