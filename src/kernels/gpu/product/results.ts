import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';
import { divides } from '../../contraction/sizes.js';
import { placeAndPart } from './panels.js';
import { highOf, invocationsOf, mostElements, type ProductTile, wideOf } from './tile.js';

/** Results of a workgroup, and where they go. */
export interface ResultTile {
  readonly tile: ProductTile;
  /** Distance of the columns of a vector. */
  readonly distance: number;
  readonly m: Expr;
  readonly n: Expr;
  store(i: Expr, j: Expr, value: Expr): Stmt;
}

/** True where all columns of a vector are results, or none is. */
function isWhole({ tile, distance, n }: ResultTile): boolean {
  return divides(n, distance === 1 ? lanes : wideOf(tile));
}

/** Vectors of each invocation that are in memory at once. */
function vectorsAtOnce({ rows, vectors, across, below }: ProductTile): number {
  return Math.min(rows * vectors, mostElements / (invocationsOf({ across, below }) * lanes));
}

/** The most elements of memory that `storeResults` takes for results of a tile. */
export function mostResultElements(tile: ProductTile): number {
  return vectorsAtOnce(tile) * invocationsOf(tile) * lanes;
}

/** Elements of memory that `storeResults` takes. */
export function resultElements(results: ResultTile): number {
  const { tile } = results;
  return tile.rows * tile.vectors === 1 && isWhole(results) ? 0 : mostResultElements(tile);
}

/**
 * Stores the sums of an invocation, by rows of vectors of columns: by way of memory, in rounds, so that what follows a
 * product is in the code once for each. Tiles begin at row `i0` and column `j0`.
 */
export function storeResults(
  sums: readonly Var[],
  results: ResultTile,
  memory: Buffer,
  own: Expr,
  [i0, j0]: readonly [Expr, Expr],
): Stmt {
  const { tile, distance, m, n } = results;
  const { vectors, across, below } = tile;
  const invocations = invocationsOf(tile);
  const together = vectorsAtOnce(tile);
  const [x, y] = [e.and(own, across - 1), e.shr(own, Math.log2(across))];
  /** Stores results of an invocation: `lane` of a vector, or all of them. */
  const storeAt = (row: Expr, vector: Expr, lane: Expr | null, value: Expr): Stmt => {
    const [at, column] = [e.variable('i', 'i32'), e.variable('j', 'i32')];
    const start =
      distance === 1
        ? e.mul(e.add(x, e.mul(vector, across)), lanes)
        : e.add(x, e.mul(vector, across * lanes));
    const place = lane === null ? start : e.add(start, e.mul(lane, distance));
    const columns = lane === null ? e.ramp(column, distance, lanes) : column;
    const isInside = [
      ...(divides(m, highOf(tile)) ? [] : [e.lt(at, m)]),
      ...(divides(n, wideOf(tile)) ? [] : [e.lt(column, n)]),
    ];
    const store = results.store(at, columns, value);
    return e.block(
      e.declare(at, e.add(i0, e.add(y, e.mul(row, below)))),
      e.declare(column, e.add(j0, place)),
      isInside.length === 0 ? store : e.ifThen(isInside.reduce((a, b) => e.and(a, b)), store),
    );
  }; // prettier-ignore
  if (sums.length === 1 && isWhole(results)) return storeAt(e.i32(0), e.i32(0), null, sums[0]);
  /** The place of a vector of this invocation in memory. */
  const place = (at: Expr | number): Expr =>
    e.mul(e.add(own, e.mul(e.add(at, e.i32(0)), invocations)), lanes);
  const rounds = Array.from({ length: Math.ceil(sums.length / together) }, (_, round) => {
    const first = round * together;
    const those = sums.slice(first, first + together);
    const all = those.map((sum, at) => e.store(memory, e.ramp(place(at), 1, lanes), sum));
    const each = (at: Expr, lane: Expr | null): Stmt => {
      const [vector, row] = placeAndPart(e.add(at, first), vectors);
      const from = lane === null ? e.ramp(place(at), 1, lanes) : e.add(place(at), lane);
      return storeAt(row, vector, lane, e.load(memory, from));
    };
    const loop = isWhole(results)
      ? e.forLoop('result', 0, those.length, (at) => each(at, null))
      : e.forLoop('result', 0, those.length * lanes, (at) =>
          each(e.shr(at, Math.log2(lanes)), e.and(at, lanes - 1)),
        );
    return e.block(...all, loop);
  });
  return e.block(...rounds);
}
