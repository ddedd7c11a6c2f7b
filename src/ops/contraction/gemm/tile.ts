import * as e from '../../../loop/build.js';
import type { Buffer, Expr, Stmt, Var } from '../../../loop/nodes.js';
import { tiled } from './cover.js';
import { pieces } from './shape.js';
import { indices } from './sizes.js';
import type { Contraction } from './spec.js';

/** A stretch of `k` of one product of the batch. */
export interface Part {
  readonly batch: Expr;
  readonly from: Expr;
  readonly to: Expr;
  /** Where sums wait between stretches; null where there is but one. */
  readonly sums: WaitingSums | null;
}

/** Sums that wait in memory until the next stretch of `k`. */
export interface WaitingSums {
  readonly buffer: Buffer;
  /** Where the sums of a row begin. */
  row(i: Expr): Expr;
  /** The column that comes first in a row. */
  readonly first: Expr;
}

/** The columns of a tile, in as few vectors as they make. */
export function columnsAt(j: Expr, width: number, lanes: number): Expr[] {
  return pieces(width, lanes).map(({ start, count }) => {
    const at = start === 0 ? j : e.add(j, start);
    return count === 1 ? at : e.ramp(at, 1, count);
  });
}

/** The place of columns, one or several side by side, in a row that begins at `start`. */
export function along(start: Expr, columns: Expr): Expr {
  const { lanes } = columns.type;
  return e.add(lanes === 1 ? start : e.broadcast(start, lanes), columns);
}

/** One register tile: all its sums live in locals while a stretch of `k` runs. */
export function tile(
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
  const waiting = part.sums;
  if (waiting === null) return e.block(...zeros, accumulate, store);
  const place = (i: Expr, j: Expr): Expr => along(e.sub(waiting.row(i), waiting.first), j);
  return e.block(
    ...zeros,
    e.ifThen(
      e.gt(part.from, 0),
      each((i, j, sum) => e.assign(sum, e.load(waiting.buffer, place(i, j)))),
    ),
    accumulate,
    e.ifThen(
      e.ge(part.to, spec.k),
      store,
      each((i, j, sum) => e.store(waiting.buffer, place(i, j), sum)),
    ),
  );
}
