import * as e from '../../loop/language/build.js';
import { chooseBy } from '../../loop/language/choices.js';
import type { Expr } from '../../loop/language/nodes.js';

/**
 * The value of a size where it decides the loops, else null. Kernels that are made for several sizes are not shared
 * by sizes of other values, so a choice for which less is enough asks `chooseBy` for that.
 */
export function known(size: Expr): number | null {
  return chooseBy([size], (value) => value);
}

/** The value of a constant, else null. */
function constant(size: Expr): number | null {
  return size.kind === 'const' ? Number(size.value) : null;
}

/** True when a size is provably at most `limit`. */
export function isWithin(size: Expr, limit: number): boolean {
  return chooseBy([size], (value) => value !== null && value <= limit);
}

export function lesserSize(a: Expr, b: number): Expr {
  const isLesser = chooseBy([a], (value) => (value === null ? null : value <= b));
  return isLesser === null ? e.min(a, b) : isLesser ? a : e.i32(b);
}

export function product(...sizes: readonly (Expr | number)[]): Expr {
  return sizes.reduce<Expr>((total, size) => {
    const [x, y] = [constant(total), typeof size === 'number' ? size : constant(size)];
    return x !== null && y !== null ? e.i32(x * y) : e.mul(total, size);
  }, e.i32(1));
}

/** A size with its products of constants computed. */
export function withConstants(size: Expr): Expr {
  if (size.kind !== 'binary' || size.op !== 'mul') return size;
  return product(withConstants(size.a), withConstants(size.b));
}

/** `count` indices from `start`, `step` apart. */
export function indices(start: Expr, count: number, step: number = 1): Expr[] {
  return Array.from({ length: count }, (_, at) => (at === 0 ? start : e.add(start, at * step)));
}

/** True when a size is provably a multiple of `step`. */
export function divides(size: Expr, step: number): boolean {
  return chooseBy([size], (value) => value !== null && value % step === 0);
}

/** End of a block of `step` that begins at `start`. */
export function blockEnd(start: Expr, step: number, extent: Expr): Expr {
  return isWithin(extent, step) ? extent : e.min(e.add(start, step), extent);
}
