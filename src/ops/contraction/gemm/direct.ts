import * as e from '../../../loop/build.js';
import type { Expr, Stmt, Var } from '../../../loop/nodes.js';
import { remainders, tiled } from './cover.js';
import { dividedOf, rangeOf } from './region.js';
import { balanced, halvings, lanesOf, pieces, tallest, type TileShape } from './shape.js';
import { indices, known } from './sizes.js';
import type { Contraction } from './spec.js';

/** Register tiles over the operands where they are: for what is too small to be worth packing. */
export function contractDirect(spec: Contraction, shape: TileShape): Stmt {
  const { m, n } = spec;
  const { target, team } = spec.context;
  const lanes = lanesOf(spec);
  const full = shape.vectors * lanes;
  const divided = dividedOf(spec, shape.rows, full);
  const down = (batch: Expr, columns: readonly Expr[]): Stmt => {
    const height = Math.min(shape.rows, balanced(m, tallest(target, columns.length)));
    const rows = rangeOf(spec, divided, 'rows', height);
    return tiled('i', rows, [height, ...remainders(m, height)], (i, rows) =>
      tile(spec, batch, indices(i, rows), columns),
    );
  };
  const across = (batch: Expr): Stmt => {
    const size = known(n);
    if (size === null)
      return tiled(
        'j',
        rangeOf(spec, divided, 'columns', full),
        [full, ...halvings(lanes)],
        (j, width) => down(batch, columnsAt(j, width, lanes)),
      );
    const whole = size - (size % full);
    const tiles = (): Stmt => {
      const { begin, end } = rangeOf({ ...spec, n: e.i32(whole) }, divided, 'columns', full);
      return e.forLoop('j', begin, end, (j) => down(batch, columnsAt(j, full, lanes)), { step: full }); // prettier-ignore
    };
    const rest = columnsAt(e.i32(whole), size - whole, lanes);
    const isLast = e.eq(e.add(team.index, 1), team.count);
    const behind = (): Stmt =>
      divided === 'columns' ? e.ifThen(isLast, down(batch, rest)) : down(batch, rest);
    return e.block(...(whole === 0 ? [] : [tiles()]), ...(rest.length === 0 ? [] : [behind()]));
  };
  const products = rangeOf(spec, divided, 'batch', 1);
  return e.forLoop('batch', products.begin, products.end, across);
}

/** The columns of a tile, in as few vectors as they make. */
function columnsAt(j: Expr, width: number, lanes: number): Expr[] {
  return pieces(width, lanes).map(({ start, count }) => {
    const at = start === 0 ? j : e.add(j, start);
    return count === 1 ? at : e.ramp(at, 1, count);
  });
}

/** One register tile: all its sums live in locals while `k` runs once. */
function tile(
  spec: Contraction,
  batch: Expr,
  rows: readonly Expr[],
  columns: readonly Expr[],
): Stmt {
  const local = (name: string, lanes: number): Var => e.variable(name, spec.scalar, lanes);
  const sums = rows.map(() => columns.map((j) => local('sum', j.type.lanes)));
  const zero = (sum: Var): Stmt => e.declare(sum, e.constant(spec.scalar, 0, sum.type.lanes));
  const widths = [...new Set(columns.map((j) => j.type.lanes))];
  const accumulate = e.forLoop('k', 0, spec.k, (k) => {
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
  });
  return e.block(
    ...sums.flat().map(zero),
    accumulate,
    ...rows.flatMap((i, r) => columns.map((j, c) => spec.store(batch, i, j, sums[r][c]))),
  );
}
