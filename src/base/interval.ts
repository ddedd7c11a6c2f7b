/*
 * Arithmetic of intervals: what comes of any number of one and any number of the other lies in the result.
 */

/** The least and the greatest value of a number, both included; infinite where there is none. */
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

/** The product of two ends, where nothing times an unbounded end is nothing. */
function corner(x: number, y: number): number {
  return x === 0 || y === 0 ? 0 : x * y;
}

/** Of the lesser of two numbers. */
export function lesser(x: Interval, y: Interval): Interval {
  return { min: Math.min(x.min, y.min), max: Math.min(x.max, y.max) };
}

/** Of the greater of two numbers. */
export function greater(x: Interval, y: Interval): Interval {
  return { min: Math.max(x.min, y.min), max: Math.max(x.max, y.max) };
}

/** The least interval that holds two. */
export function hull(x: Interval, y: Interval): Interval {
  return { min: Math.min(x.min, y.min), max: Math.max(x.max, y.max) };
}
