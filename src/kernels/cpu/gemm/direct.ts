import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { type ColumnsBody, columnsOf } from './columns.js';
import { alongDepth, remainders, tiled } from './cover.js';
import { dividedOf, overKind } from './region.js';
import { balanced, registerLanes, narrowLaneCount, tallest, type TileShape } from './shape.js';
import { indices, product } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import {
  columnsAt,
  memoryForSums,
  type DepthRange,
  registerTile,
  tileSums,
  type WaitingSums,
} from './tile.js';

/**
 * Register tiles over the operands in place: for products too small to pack. With a `depth` only that much of
 * `k` is processed at a time, and all sums are kept in memory meanwhile.
 */
export function contractDirect(spec: Contraction, shape: TileShape, depth?: number): Stmt {
  const { m, k } = spec;
  const lanes = registerLanes(spec);
  const full = shape.vectors * lanes;
  const divided = dividedOf(spec, shape.rows, full);
  const columns = columnsOf(spec, divided, full);
  const overRows = (vectors: number, body: (rows: readonly Expr[]) => Stmt): Stmt => {
    const height = Math.min(shape.rows, balanced(m, tallest(spec.context.target, vectors)));
    return overKind(spec, divided, 'rows', height, (range) =>
      tiled('i', range, [height, ...remainders(m, height)], (i, rows) => body(indices(i, rows))),
    );
  };
  const across = (part: DepthRange): Stmt => {
    const down: ColumnsBody = (j, width) => {
      const at = columnsAt(j, width, lanes);
      return overRows(at.length, (rows) => registerTile(spec, part, rows, at));
    };
    if (lanes <= narrowLaneCount || !columns.hasWhole) return columns.all(down);
    // Row by row the result is written page by page, and the parts of `b` that wide vectors reread are in the
    // second-level cache.
    const rowByRow = overRows(shape.vectors, (rows) =>
      columns.whole((j, width) => registerTile(spec, part, rows, columnsAt(j, width, lanes))),
    );
    return e.block(rowByRow, columns.rest(down));
  };
  const waiting = depth === undefined ? tileSums(spec, shape) : waitingSums(spec, shape);
  return overKind(spec, divided, 'batch', 1, ({ begin, end }) =>
    e.forLoop('batch', begin, end, (batch) => {
      if (depth === undefined) return across({ batch, from: e.i32(0), to: k, waiting });
      return alongDepth(k, depth, (from, to) => across({ batch, from, to, waiting }));
    }),
  );
}

/** Memory for all sums of a product. */
function waitingSums(spec: Contraction, shape: TileShape): WaitingSums {
  const { m, n } = spec;
  return { ...memoryForSums(spec, shape, product(m, n)), row: (i) => e.mul(i, n), first: e.i32(0) };
}
