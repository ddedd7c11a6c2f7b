import * as e from '../../../loop/build.js';
import type { Expr, Stmt } from '../../../loop/nodes.js';
import { remainders, tiled } from './cover.js';
import { dividedOf, rangeOf } from './region.js';
import { balanced, halvings, lanesOf, narrowLanes, tallest, type TileShape } from './shape.js'; // prettier-ignore
import { blockEnd, indices, known, product } from './sizes.js';
import { type Contraction, sumDTypes } from './spec.js';
import { columnsAt, type Part, tile, type WaitingSums } from './tile.js';

export interface DirectOptions {
  /** How much of `k` is worked off at a time, where not all of it: sums wait in memory meanwhile. */
  readonly depth?: number;
}

/** Register tiles over the operands where they are: for what is too small to be worth packing. */
export function contractDirect(
  spec: Contraction,
  shape: TileShape,
  { depth }: DirectOptions = {},
): Stmt {
  const { m, n } = spec;
  const { target, team } = spec.context;
  const lanes = lanesOf(spec);
  const full = shape.vectors * lanes;
  const divided = dividedOf(spec, shape.rows, full);
  const overRows = (vectors: number, body: (rows: readonly Expr[]) => Stmt): Stmt => {
    const height = Math.min(shape.rows, balanced(m, tallest(target, vectors)));
    const range = rangeOf(spec, divided, 'rows', height);
    return tiled('i', range, [height, ...remainders(m, height)], (i, rows) =>
      body(indices(i, rows)),
    );
  };
  const down = (part: Part, columns: readonly Expr[]): Stmt =>
    overRows(columns.length, (rows) => tile(spec, part, rows, columns));
  const across = (part: Part): Stmt => {
    const size = known(n);
    if (size === null)
      return tiled(
        'j',
        rangeOf(spec, divided, 'columns', full),
        [full, ...halvings(lanes)],
        (j, width) => down(part, columnsAt(j, width, lanes)),
      );
    const whole = size - (size % full);
    const tiles = (): Stmt => {
      const { begin, end } = rangeOf({ ...spec, n: e.i32(whole) }, divided, 'columns', full);
      const along = (body: (columns: readonly Expr[]) => Stmt): Stmt =>
        e.forLoop('j', begin, end, (j) => body(columnsAt(j, full, lanes)), { step: full });
      // Row by row the result is written page by page, and what wide vectors read of `b` again is in the second cache.
      if (lanes > narrowLanes)
        return overRows(shape.vectors, (rows) => along((columns) => tile(spec, part, rows, columns))); // prettier-ignore
      return along((columns) => down(part, columns));
    };
    const rest = columnsAt(e.i32(whole), size - whole, lanes);
    const isLast = e.eq(e.add(team.index, 1), team.count);
    const behind = (): Stmt =>
      divided === 'columns' ? e.ifThen(isLast, down(part, rest)) : down(part, rest);
    return e.block(...(whole === 0 ? [] : [tiles()]), ...(rest.length === 0 ? [] : [behind()]));
  };
  const products = rangeOf(spec, divided, 'batch', 1);
  return e.forLoop('batch', products.begin, products.end, (batch) =>
    alongDepth(spec, batch, depth, across),
  );
}

/** All of `k`, or one part after the other; at least one, since empty sums are stored too. */
function alongDepth(
  { context, scalar, m, n, k }: Contraction,
  batch: Expr,
  depth: number | undefined,
  across: (part: Part) => Stmt,
): Stmt {
  if (depth === undefined) return across({ batch, from: e.i32(0), to: k, sums: null });
  const buffer = context.scratch('partialSums', sumDTypes[scalar], product(m, n));
  const sums: WaitingSums = { buffer, row: (i) => e.mul(i, n), first: e.i32(0) };
  return e.forLoop(
    'depth',
    0,
    e.max(k, 1),
    (from) => across({ batch, from, to: blockEnd(from, depth, k), sums }),
    { step: depth },
  );
}
