import * as e from '../../loop/build.js';
import type { Expr, Scalar, Stmt, Var } from '../../loop/nodes.js';
import type { KernelContext } from '../lowering.js';

/**
 * A batch of matrix products in general form: for every `b < batch`, `i < m`, `j < n`
 *
 *     store(b, i, j, sum over kk < k of a(b, i, kk) * b(b, kk, j))
 *
 * The operands are callbacks, so a caller states *what* an element is (a load, a load through an
 * im2col index, a fused chain of elementwise operators) and this file alone decides *when* it is read:
 * in place, or once into a packed panel.
 *
 * Contract of the callbacks:
 * - Indices are i32, in bounds, and either scalars or vectors of lanes; scalars and vectors may meet in
 *   one call. The result has as many lanes as the widest index, or one where it is the same in all. `a`
 *   may be asked for lanes along `i` or along `kk`, `b` and `store` along `j` only.
 * - `a` and `b` are pure and return `scalar`. They may be called for the same element any number of
 *   times (unpacked) or exactly once a panel (packed).
 * - `store` receives the finished sum in `scalar`; every element is stored exactly once, after all
 *   reads of its sum. What follows the product (bias, activation, conversion) belongs in it. It must not write
 *   what `a` or `b` read.
 * - Lanes are asked for only along extents that may hold them: an operand without a column axis may have
 *   its one column in `n`, the constant 1, and will see scalars only.
 * - Any extent may be 0: with `k` 0 every stored sum is 0; with another 0 nothing is stored.
 */
export interface Contraction {
  /** Where temporary memory comes from, and the bytes of one vector register. */
  readonly context: Pick<KernelContext<unknown>, 'scratch' | 'vectorBytes'>;
  /** The type of operands, products and sums. Integer sums wrap. */
  readonly scalar: Exclude<Scalar, 'bool'>;
  readonly batch: Expr;
  readonly m: Expr;
  readonly n: Expr;
  readonly k: Expr;
  a(batch: Expr, i: Expr, k: Expr): Expr;
  b(batch: Expr, k: Expr, j: Expr): Expr;
  store(batch: Expr, i: Expr, j: Expr, value: Expr): Stmt;
}

/** Rows of one register tile. */
const tileRows = 4;
/** Vector registers across one register tile: 4 x 2 accumulators, 2 of `b` and 1 of `a` fit in 16. */
const tileVectors = 2;

/** The loops of a contraction: register tiles over `m` and `n`, vectorised along `n`. */
export function contract(spec: Contraction): Stmt {
  const lanes = spec.context.vectorBytes / e.scalarBytes(spec.scalar);
  return e.forLoop(
    'batch',
    0,
    spec.batch,
    (batch) =>
      tiled('i', spec.m, [tileRows, 1], (i, rows) =>
        tiled('j', spec.n, [tileVectors * lanes, lanes, 1], (j, columns) =>
          tile(spec, batch, offsets(i, rows, 1), columnIndices(j, columns, lanes)),
        ),
      ),
    { mode: 'parallel' },
  );
}

/** Covers `0 .. extent` with tiles of the first size while they fit, then of the next; the last is 1. */
function tiled(
  name: string,
  extent: Expr,
  sizes: readonly number[],
  body: (start: Var, size: number) => Stmt,
): Stmt {
  const statements: Stmt[] = [];
  let begin: Expr = e.i32(0);
  const most = extent.kind === 'const' ? Number(extent.value) : Infinity;
  for (const size of new Set(sizes)) {
    if (size > most && size > 1) continue;
    const end: Expr = size === 1 ? extent : e.sub(extent, e.rem(e.sub(extent, begin), size));
    const from = begin;
    statements.push(e.forLoop(name, from, end, (start) => body(start, size), { step: size }));
    begin = end;
  }
  return e.block(...statements);
}

function offsets(start: Expr, count: number, stride: number): Expr[] {
  return Array.from({ length: count }, (_, at) => (at === 0 ? start : e.add(start, at * stride)));
}

/** The columns of a tile: one scalar index, or one vector of lanes a register. */
function columnIndices(j: Expr, columns: number, lanes: number): Expr[] {
  if (columns === 1 || lanes === 1) return offsets(j, columns, 1);
  return offsets(j, columns / lanes, lanes).map((start) => e.ramp(start, 1, lanes));
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
  const accumulate = e.forLoop('k', 0, spec.k, (k) => {
    const right = columns.map((j) => local('b', j.type.lanes));
    return e.block(
      ...columns.map((j, c) => e.declare(right[c], e.broadcast(spec.b(batch, k, j), j.type.lanes))),
      ...rows.flatMap((i, r) => {
        const left = local('a', 1);
        return [
          e.declare(left, spec.a(batch, i, k)),
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
