import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import {
  addBlock, addToLast, type BlockSums, blockSums, overDepthBlocks, putBlock,
} from './blocks.js'; // prettier-ignore
import { tiled } from './cover.js';
import { registerLanes, pieces, type TileShape } from './shape.js';
import { indices } from '../../contraction/sizes.js';
import { isLong } from '../../contraction/long-sums.js';
import type { Contraction } from '../../contraction/spec.js';
import { scalarDTypes } from '../../../ops/elements.js';

/** A range of `k` of one product of the batch. */
export interface DepthRange {
  readonly batch: Expr;
  readonly from: Expr;
  readonly to: Expr;
  /** Memory for sums between ranges, or between the blocks of long sums; null for a single range. */
  readonly waiting: WaitingSums | TileSums | null;
}

/**
 * Number of blocks whose sums a tile adds before it adds them to those of all of `k`, since compensation
 * costs about as much as five steps of a tile. No term is rounded more often than in one block of
 * `blockTerms` alone, and equal terms by no more.
 */
const tileBlock = 48;
const tileGroup = 6 * tileBlock;

/** Sums in memory between ranges of `k`. */
export interface WaitingSums {
  readonly buffer: Buffer;
  /** Offset from a sum to its compensation; null where sums are short, and not compensated. */
  readonly carry: Expr | null;
  /** Memory for the sums of one tile between the blocks of a group; null where sums are short. */
  readonly group: Buffer | null;
  /** Start of the sums of a row. */
  row(i: Expr): Expr;
  /** The first column of a row. */
  readonly first: Expr;
}

/** Long sums of one tile, all of which are finished before those of the next: row by row, from the beginning. */
export interface TileSums extends BlockSums {
  readonly group: Buffer;
  readonly row: null;
}

/** Memory for so many sums of tiles of at most such a shape, with compensation where they are long. */
export function memoryForSums(
  spec: Contraction,
  shape: TileShape,
  size: Expr,
): Pick<WaitingSums, 'buffer' | 'carry' | 'group'> {
  if (isLong(spec)) return { ...blockSums(spec, size), group: groupSums(spec, shape) };
  const { context, scalar } = spec;
  const buffer = context.scratch('partialSums', scalarDTypes[scalar], size);
  return { buffer, carry: null, group: null };
}

/**
 * Memory for the sums of tiles of at most such a shape between the blocks of all of `k`, if there may be
 * several.
 */
export function tileSums(spec: Contraction, shape: TileShape): TileSums | null {
  if (!isLong(spec)) return null;
  const sums = blockSums(spec, e.i32(sumsOf(spec, shape)));
  return { ...sums, group: groupSums(spec, shape), row: null };
}

function groupSums(spec: Contraction, shape: TileShape): Buffer {
  const { context, scalar } = spec;
  return context.scratch('groupSums', scalarDTypes[scalar], e.i32(sumsOf(spec, shape)));
}

function sumsOf(spec: Contraction, { rows, vectors }: TileShape): number {
  return rows * vectors * registerLanes(spec);
}

/** The columns of a tile, in as few vectors as possible. */
export function columnsAt(j: Expr, width: number, lanes: number): Expr[] {
  return pieces(width, lanes).map(({ start, count }) => {
    const at = start === 0 ? j : e.add(j, start);
    return count === 1 ? at : e.ramp(at, 1, count);
  });
}

/** The position of columns, one or several contiguous ones, in a row that begins at `start`. */
export function along(start: Expr, columns: Expr): Expr {
  const { lanes } = columns.type;
  return e.add(lanes === 1 ? start : e.broadcast(start, lanes), columns);
}

/** One register tile: all its sums are locals during a range of `k`, or a block of it. */
export function registerTile(
  spec: Contraction,
  part: DepthRange,
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
  const { waiting } = part;
  const starts = columns.map((_, c) => lanesIn(columns.slice(0, c)));
  const inTile = (r: number, c: number): Expr => {
    const { lanes } = columns[c].type;
    const start = e.i32(r * lanesIn(columns) + starts[c]);
    return lanes === 1 ? start : e.ramp(start, 1, lanes);
  };
  const place = (r: number, c: number): Expr =>
    waiting!.row === null
      ? inTile(r, c)
      : along(e.sub(waiting!.row(rows[r]), waiting!.first), columns[c]);
  const each = (visit: (sum: Var, r: number, c: number) => Stmt): Stmt =>
    e.block(...sums.flatMap((row, r) => row.map((sum, c) => visit(sum, r, c))));
  const zeros = sums.flat().map(zero);
  const accumulate = (begin: Expr, end: Expr): Stmt =>
    tiled('k', { begin, end }, [spec.context.target.productSteps, 1], (k, count) =>
      e.block(...indices(k, count).map(step)),
    );
  const store = each((sum, r, c) => spec.store(batch, rows[r], columns[c], sum));
  if (waiting === null) return e.block(...zeros, accumulate(part.from, part.to), store);
  const { buffer, carry, group } = waiting;
  if (carry === null || group === null)
    return e.block(
      ...zeros,
      e.ifThen(
        e.gt(part.from, 0),
        each((sum, r, c) => e.assign(sum, e.load(buffer, place(r, c)))),
      ),
      accumulate(part.from, part.to),
      e.ifThen(
        e.ge(part.to, spec.k),
        store,
        each((sum, r, c) => e.store(buffer, place(r, c), sum)),
      ),
    );
  const memory = { buffer, carry };
  const ofGroup = (r: number, c: number): Expr => e.load(group, inTile(r, c));
  const keepInGroup = (from: Expr, first: Expr): Stmt =>
    e.ifThen(
      e.eq(from, first),
      each((sum, r, c) => e.store(group, inTile(r, c), sum)),
      each((sum, r, c) => e.store(group, inTile(r, c), e.add(ofGroup(r, c), sum))),
    );
  const endGroup = (first: Expr, last: Expr): Stmt =>
    e.ifThen(
      e.ge(last, spec.k),
      e.block(
        e.ifThen(
          e.gt(first, 0),
          each((sum, r, c) => addToLast(memory, place(r, c), sum)),
        ),
        store,
      ),
      e.ifThen(
        e.eq(first, 0),
        each((sum, r, c) => putBlock(memory, place(r, c), sum)),
        each((sum, r, c) => addBlock(memory, place(r, c), sum)),
      ),
    );
  return overDepthBlocks(spec.k, { begin: part.from, end: part.to }, tileGroup, (first, last) =>
    overDepthBlocks(spec.k, { begin: first, end: last }, tileBlock, (from, to) =>
      e.block(
        ...zeros,
        accumulate(from, to),
        e.ifThen(
          e.lt(to, last),
          keepInGroup(from, first),
          e.block(
            e.ifThen(
              e.gt(from, first),
              each((sum, r, c) => e.assign(sum, e.add(ofGroup(r, c), sum))),
            ),
            endGroup(first, last),
          ),
        ),
      ),
    ),
  );
}

function lanesIn(columns: readonly Expr[]): number {
  return columns.reduce((total, { type }) => total + type.lanes, 0);
}
