import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Stmt } from '../../../loop/language/nodes.js';
import { pieces } from './shape.js';
import { divides } from '../../contraction/sizes.js';

/** Neighbors along an outer index of an operand, rows of `a` or columns of `b`, in a range of `k`. */
export interface PanelSource {
  /** The element at an outer index and an index of `k`; either may be a vector. */
  read(outer: Expr, k: Expr): Expr;
  readonly start: Expr;
  readonly width: number;
  /** Range along `k`. */
  readonly from: Expr;
  readonly to: Expr;
}

/** Packs neighbors so that the operands of one step along `k` are contiguous: `[k][width]`, from `place` on. */
export function packInterleaved(
  into: Buffer,
  place: Expr,
  { read, start, width, from, to }: PanelSource,
  lanes: number,
): Stmt {
  const parts = pieces(width, lanes);
  return e.forLoop('k', from, to, (k) => {
    const row = e.add(place, e.mul(e.sub(k, from), width));
    return e.block(
      ...parts.map(({ start: first, count }) => {
        const element = read(lanesAt(e.add(start, first), count), k);
        return put(into, e.add(row, first), count, element);
      }),
    );
  });
}

/**
 * `packInterleaved` for neighbors that are far apart and contiguous along `k`: element by element, a cache
 * line of each at a time, whose elements go to as many rows, so that their lines fill up in the first-level
 * cache.
 */
export function packTurned(
  into: Buffer,
  place: Expr,
  { read, start, width, from, to }: PanelSource,
): Stmt {
  return e.forLoop(
    'line',
    from,
    to,
    (k0) => {
      const end = e.add(k0, line);
      const last = divides(to, line) && divides(from, line) ? end : e.min(end, to);
      return e.forLoop('outer', 0, width, (outer) =>
        e.forLoop(
          'k',
          k0,
          last,
          (k) =>
          put(into, e.add(e.add(place, e.mul(e.sub(k, from), width)), outer), 1, read(e.add(start, outer), k)), // prettier-ignore
        ),
      );
    },
    { step: line },
  );
}

/** Elements of a cache line of float32. */
const line = 16;

/** Rows of an operand, from their beginning. */
export interface RowSource extends Pick<PanelSource, 'read'> {
  readonly begin: Expr;
  readonly end: Expr;
  readonly depth: Expr;
}

/** Copies rows, `distance` apart. */
export function packRows(
  into: Buffer,
  distance: Expr,
  { read, begin, end, depth }: RowSource,
  lanes: number,
): Stmt {
  return e.forLoop('row', begin, end, (row) => {
    const place = e.mul(e.sub(row, begin), distance);
    const copy = (k: Expr, count: number): Stmt =>
      put(into, e.add(place, k), count, read(row, lanesAt(k, count)));
    const whole = e.sub(depth, e.rem(depth, lanes));
    return e.block(
      e.forLoop('k', 0, whole, (k) => copy(k, lanes), { step: lanes }),
      ...(lanes === 1 ? [] : [e.forLoop('k', whole, depth, (k) => copy(k, 1))]),
    );
  });
}

function lanesAt(at: Expr, lanes: number): Expr {
  return lanes === 1 ? at : e.ramp(at, 1, lanes);
}

function put(into: Buffer, place: Expr, lanes: number, element: Expr): Stmt {
  const value = e.cast(e.loadedScalar(into.storage), element);
  return e.store(into, lanesAt(place, lanes), e.broadcast(value, lanes));
}
