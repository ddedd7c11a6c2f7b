import * as e from '../../../loop/build.js';
import type { Buffer, Expr, Stmt } from '../../../loop/nodes.js';
import { pieces } from './shape.js';
import { divides, product } from './sizes.js';

/** Some rows (or columns) of an operand, along a stretch of `k`. */
export interface PanelSource {
  /** The element at an outer index and a position along `k`; either may be a vector. */
  read(outer: Expr, k: Expr): Expr;
  /** The outer extent of the operand; panels that reach beyond it repeat its last element. */
  readonly extent: Expr;
  /** The outer indices to pack, and where along `k`. */
  readonly begin: Expr;
  readonly end: Expr;
  readonly from: Expr;
  readonly depth: Expr;
}

/** How the elements of a panel of `width` outer indices lie: steps along the outer index and along `k`. */
export interface PanelLayout {
  readonly width: number;
  readonly outer: number;
  readonly inner: number;
}

/** `[k][width]`: what one step along `k` needs lies side by side. */
export function interleaved(width: number): PanelLayout {
  return { width, outer: 1, inner: width };
}

/**
 * `[width][k]`: stretches of `k` lie one after the other, as in a row-major operand. `depth` is the most
 * there are; some elements in between keep the rows of a panel from competing for the same lines of a cache.
 */
export function inRows(width: number, depth: number): PanelLayout {
  return { width, outer: depth + 16, inner: 1 };
}

/** Where the panel begins that is `distance` outer indices from the first. */
export function panelStart({ outer, inner }: PanelLayout, distance: Expr, depth: Expr): Expr {
  return e.mul(distance, inner === 1 ? e.i32(outer) : depth);
}

/** How many elements `extent` outer indices, in whole panels, take. */
export function panelElements({ outer, inner }: PanelLayout, extent: Expr, depth: Expr): Expr {
  return product(extent, inner === 1 ? outer : depth);
}

/**
 * How many steps along k are copied before the next panel has its turn. Neighbouring panels share cache
 * lines in memory, and rows whose distance is a power of two compete for the same few lines of a cache:
 * what was fetched for one panel must be used by the next before it is gone.
 */
const strip = 16;

/** Copies an operand into panels; lanes run along the outer index, or along `k` in rows. */
export function packPanels(
  into: Buffer,
  source: PanelSource,
  layout: PanelLayout,
  lanes: number,
): Stmt {
  return layout.inner === 1
    ? packRows(into, source, layout, lanes)
    : packInterleaved(into, source, layout, lanes);
}

function packInterleaved(
  into: Buffer,
  { read, extent, begin, end, from, depth }: PanelSource,
  layout: PanelLayout,
  lanes: number,
): Stmt {
  const { width } = layout;
  const copy = (outer: Expr, k0: Expr, last: Expr, clamped: boolean): Stmt => {
    const panel = panelStart(layout, e.sub(outer, begin), depth);
    return e.forLoop('k', k0, last, (k) => {
      const place = e.add(panel, e.mul(k, width));
      const stores = pieces(width, lanes).map(({ start, count }) => {
        const at = lanesAt(e.add(outer, start), count);
        const element = read(clamped ? e.min(at, e.sub(extent, 1)) : at, e.add(from, k));
        return put(into, e.add(place, start), count, element);
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

/** What is beyond the edge is left as it is: its sums are dropped. */
function packRows(
  into: Buffer,
  { read, begin, end, from, depth }: PanelSource,
  layout: PanelLayout,
  lanes: number,
): Stmt {
  return e.forLoop('row', begin, end, (outer) => {
    const place = panelStart(layout, e.sub(outer, begin), depth);
    const copy = (k: Expr, count: number): Stmt =>
      put(into, e.add(place, k), count, read(outer, lanesAt(e.add(from, k), count)));
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
