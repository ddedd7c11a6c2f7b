import * as e from '../../../loop/build.js';
import type { Expr, Stmt, Var } from '../../../loop/nodes.js';
import { remainders, tiled } from './cover.js';
import { indices } from './sizes.js';
import type { Contraction } from './spec.js';

/** Rows and vector registers across one register tile. */
export interface TileShape {
  readonly rows: number;
  readonly vectors: number;
}

/** Register tiles over the operands where they are: for what is too small to be worth packing. */
export function contractDirect(spec: Contraction, { rows, vectors }: TileShape): Stmt {
  const lanes = spec.context.target.vectorBytes / e.scalarBytes(spec.scalar);
  // Two of four 32-bit lanes still make a vector, which leaves at most one scalar column.
  const widths = [vectors * lanes, lanes, ...(lanes === 4 ? [2] : []), 1];
  return e.forLoop(
    'batch',
    0,
    spec.batch,
    (batch) =>
      tiled('i', spec.m, [rows, ...remainders(spec.m, rows)], (i, height) =>
        tiled('j', spec.n, widths, (j, width) =>
          tile(spec, batch, indices(i, height), columnIndices(j, width, lanes)),
        ),
      ),
    { mode: 'parallel' },
  );
}

/** The columns of a tile: one scalar index, or one vector of lanes a register. */
function columnIndices(j: Expr, columns: number, lanes: number): Expr[] {
  const width = Math.min(columns, lanes);
  return indices(j, columns / width, width).map((start) =>
    width === 1 ? start : e.ramp(start, 1, width),
  );
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
  const { lanes } = columns[0].type;
  const accumulate = e.forLoop('k', 0, spec.k, (k) => {
    const right = columns.map(() => local('b', lanes));
    return e.block(
      ...columns.map((j, c) => e.declare(right[c], e.broadcast(spec.b(batch, k, j), lanes))),
      ...rows.flatMap((i, r) => {
        const left = local('a', lanes);
        return [
          e.declare(left, e.broadcast(spec.a(batch, i, k), lanes)),
          ...right.map((value, c) => e.assign(sums[r][c], e.add(sums[r][c], e.mul(left, value)))),
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
