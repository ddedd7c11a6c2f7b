/*
 * Arithmetic of intervals: what comes of any number of one and any number of the other lies in the result.
 */

/** Inclusive bounds of a number; infinite where it has none. */
export interface Interval {
  readonly min: number;
  readonly max: number;
}

export function plus(x: Interval, y: Interval): Interval {
  return { min: x.min + y.min, max: x.max + y.max };
}

export function times(x: Interval, y: Interval): Interval {
  const [a, b] = [corner(x.min, y.min), corner(x.min, y.max)];
  const [c, d] = [corner(x.max, y.min), corner(x.max, y.max)];
  return { min: Math.min(a, b, c, d), max: Math.max(a, b, c, d) };
}

/** Product of two ends of intervals, where 0 times infinity is 0. */
function corner(x: number, y: number): number {
  return x === 0 || y === 0 ? 0 : x * y;
}

/** Interval of the minimum of two numbers. */
export function minInterval(x: Interval, y: Interval): Interval {
  return { min: Math.min(x.min, y.min), max: Math.min(x.max, y.max) };
}

/** Interval of the maximum of two numbers. */
export function maxInterval(x: Interval, y: Interval): Interval {
  return { min: Math.max(x.min, y.min), max: Math.max(x.max, y.max) };
}

/** Smallest interval that contains both. */
export function hull(x: Interval, y: Interval): Interval {
  return { min: Math.min(x.min, y.min), max: Math.max(x.max, y.max) };
}
