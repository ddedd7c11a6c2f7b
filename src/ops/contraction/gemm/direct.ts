import * as e from '../../../loop/build.js';
import type { Buffer, Expr, Stmt, Var } from '../../../loop/nodes.js';
import { remainders, tiled } from './cover.js';
import { dividedOf, rangeOf } from './region.js';
import { balanced, halvings, lanesOf, narrowLanes, pieces, tallest, type TileShape } from './shape.js'; // prettier-ignore
import { blockEnd, indices, known, product } from './sizes.js';
import { type Contraction, sumDTypes } from './spec.js';

export interface DirectOptions {
  /** Comes before each product of the batch. */
  readonly before?: (batch: Expr) => Stmt;
  /** How much of `k` is worked off at a time, where not all of it: sums wait in memory meanwhile. */
  readonly depth?: number;
}

/** Register tiles over the operands where they are: for what is too small to be worth packing. */
export function contractDirect(
  spec: Contraction,
  shape: TileShape,
  { before = () => e.block(), depth }: DirectOptions = {},
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
    e.block(before(batch), alongDepth(spec, batch, depth, across)),
  );
}

/** A stretch of `k` of one product of the batch. */
interface Part {
  readonly batch: Expr;
  readonly from: Expr;
  readonly to: Expr;
  /** Where the sums wait between parts; null where there is but one. */
  readonly sums: Buffer | null;
}

/** All of `k`, or one part after the other; at least one, since empty sums are stored too. */
function alongDepth(
  { context, scalar, m, n, k }: Contraction,
  batch: Expr,
  depth: number | undefined,
  across: (part: Part) => Stmt,
): Stmt {
  if (depth === undefined) return across({ batch, from: e.i32(0), to: k, sums: null });
  const sums = context.scratch('partialSums', sumDTypes[scalar], product(m, n));
  return e.forLoop(
    'depth',
    0,
    e.max(k, 1),
    (from) => across({ batch, from, to: blockEnd(from, depth, k), sums }),
    { step: depth },
  );
}

/** The columns of a tile, in as few vectors as they make. */
function columnsAt(j: Expr, width: number, lanes: number): Expr[] {
  return pieces(width, lanes).map(({ start, count }) => {
    const at = start === 0 ? j : e.add(j, start);
    return count === 1 ? at : e.ramp(at, 1, count);
  });
}

/** One register tile: all its sums live in locals while a part of `k` runs. */
function tile(
  spec: Contraction,
  part: Part,
  rows: readonly Expr[],
  columns: readonly Expr[],
): Stmt {
  const { batch } = part;
  const local = (name: string, lanes: number): Var => e.variable(name, spec.scalar, lanes);
  const sums = rows.map(() => columns.map((j) => local('sum', j.type.lanes)));
  const zero = (sum: Var): Stmt => e.declare(sum, e.constant(spec.scalar, 0, sum.type.lanes));
  const widths = [...new Set(columns.map((j) => j.type.lanes))];
  const step = (k: Expr): Stmt => {
    const right = columns.map((j) => local('b', j.type.lanes));
    return e.block(
      ...columns.map((j, c) => e.declare(right[c], e.broadcast(spec.b(batch, k, j), j.type.lanes))),
      ...rows.flatMap((i, r) => {
        const left = new Map(widths.map((lanes) => [lanes, local('a', lanes)]));
        return [
          ...widths.map((lanes) =>
            e.declare(left.get(lanes)!, e.broadcast(spec.a(batch, i, k), lanes)),
          ),
          ...right.map((value, c) => {
            const factor = left.get(value.type.lanes)!;
            return e.assign(sums[r][c], e.add(sums[r][c], e.mul(factor, value)));
          }),
        ];
      }),
    );
  };
  const depth = { begin: part.from, end: part.to };
  const accumulate = tiled('k', depth, [spec.context.target.productSteps, 1], (k, count) =>
    e.block(...indices(k, count).map(step)),
  );
  const each = (visit: (i: Expr, j: Expr, sum: Var) => Stmt): Stmt =>
    e.block(...rows.flatMap((i, r) => columns.map((j, c) => visit(i, j, sums[r][c]))));
  const store = each((i, j, sum) => spec.store(batch, i, j, sum));
  const zeros = sums.flat().map(zero);
  const memory = part.sums;
  if (memory === null) return e.block(...zeros, accumulate, store);
  const place = (i: Expr, j: Expr): Expr => {
    const row = e.mul(i, spec.n);
    return j.type.lanes === 1 ? e.add(row, j) : e.add(e.broadcast(row, j.type.lanes), j);
  };
  return e.block(
    ...zeros,
    e.ifThen(
      e.gt(part.from, 0),
      each((i, j, sum) => e.assign(sum, e.load(memory, place(i, j)))),
    ),
    accumulate,
    e.ifThen(
      e.ge(part.to, spec.k),
      store,
      each((i, j, sum) => e.store(memory, place(i, j), sum)),
    ),
  );
}
