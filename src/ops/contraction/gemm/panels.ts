import * as e from '../../../loop/build.js';
import type { Buffer, Expr, Stmt } from '../../../loop/nodes.js';
import { divides, indices } from './sizes.js';

/** Some rows (or columns) of an operand, along a stretch of `k`. */
export interface PanelSource {
  /** The element at an outer index and a position along `k`; outer indices may be vectors. */
  read(outer: Expr, k: Expr): Expr;
  /** The outer extent of the operand; panels that reach beyond it repeat its last element. */
  readonly extent: Expr;
  /** The outer indices to pack, and where along `k`. */
  readonly begin: Expr;
  readonly end: Expr;
  readonly from: Expr;
  readonly depth: Expr;
}

/**
 * How many steps along k are copied before the next panel has its turn. Neighbouring panels share cache
 * lines in memory, and rows whose distance is a power of two compete for the same few lines of a cache:
 * what was fetched for one panel must be used by the next before it is gone.
 */
const strip = 16;

/**
 * Copies an operand into panels of `width` outer indices, each in the order `[k][width]`, `vectors` at
 * a time: element `k` of the panel that begins at `outer` is at `(outer - begin) * depth + k * width`.
 */
export function packPanels(into: Buffer, source: PanelSource, width: number, lanes: number): Stmt {
  const { extent, begin, end, from, depth } = source;
  const scalar = e.loadedScalar(into.storage);
  const lanesAt = (at: Expr): Expr => (lanes === 1 ? at : e.ramp(at, 1, lanes));
  const copy = (outer: Expr, k0: Expr, last: Expr, clamped: boolean): Stmt => {
    const panel = e.mul(e.sub(outer, begin), depth);
    return e.forLoop('k', k0, last, (k) => {
      const place = e.add(panel, e.mul(k, width));
      const stores = indices(outer, width / lanes, lanes).map((start, vector) => {
        const at = lanesAt(start);
        const element = source.read(clamped ? e.min(at, e.sub(extent, 1)) : at, e.add(from, k));
        const value = e.broadcast(e.cast(scalar, element), lanes);
        return e.store(into, lanesAt(e.add(place, vector * lanes)), value);
      });
      return e.block(...stores);
    });
  };
  return e.forLoop(
    'strip',
    0,
    depth,
    (k0) => {
      const last = e.min(e.add(k0, strip), depth);
      return e.forLoop(
        'panel',
        begin,
        end,
        (outer) =>
          divides(extent, width)
            ? copy(outer, k0, last, false)
            : e.ifThen(
                e.le(e.add(outer, width), extent),
                copy(outer, k0, last, false),
                copy(outer, k0, last, true),
              ),
        { step: width },
      );
    },
    { step: strip },
  );
}
