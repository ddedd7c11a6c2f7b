import * as e from '../../loop/language/build.js';
import type { Expr, Ramp } from '../../loop/language/nodes.js';
import { divisor } from '../loops.js';

/**
 * The index along each axis of the element at row-major position `flat`. Axes of the constant extent 1 cost
 * nothing, and neither does a space with one longer axis. Some index has the lanes of `flat` in any case, so
 * that code for positions out of range can be built, though never run.
 */
export function unravel(flat: Expr, extents: readonly Expr[]): Expr[] {
  const row = extents.findLast((extent) => !isOne(extent));
  if (row?.kind === 'const' && staysInRow(flat, Number(row.value))) {
    const axis = extents.lastIndexOf(row);
    const index = unravel(flat.base, extents);
    index[axis] = e.ramp(index[axis], 1, flat.type.lanes);
    return index;
  }
  const index: Expr[] = extents.map(() => e.i32(0));
  const last = extents.length - 1;
  const long = extents.flatMap((extent, axis) => (isOne(extent) ? [] : [axis]));
  if (long.length === 0 && last >= 0) index[last] = flat;
  let rest = flat;
  for (const axis of long.toReversed()) {
    const isFirst = axis === long[0];
    index[axis] = isFirst ? rest : e.rem(rest, divisor(extents[axis]));
    if (!isFirst) rest = e.div(rest, divisor(extents[axis]));
  }
  return index;
}

/**
 * True when lanes at row-major positions of a space never leave a row of this length: they are contiguous
 * and, as a contraction promises, start at a multiple of their number.
 */
export function staysInRow(position: Expr, length: number): position is Ramp {
  return (
    position.kind === 'ramp' &&
    position.stride.kind === 'const' &&
    position.stride.value === 1 &&
    length % position.type.lanes === 0
  );
}

/** The number of elements of a space. */
export function volume(extents: readonly Expr[]): Expr {
  return extents.reduce<Expr>(
    (size, extent) => (isOne(extent) ? size : isOne(size) ? extent : e.mul(size, extent)),
    e.i32(1),
  );
}

export function isOne(extent: Expr): boolean {
  return extent.kind === 'const' && extent.value === 1;
}
