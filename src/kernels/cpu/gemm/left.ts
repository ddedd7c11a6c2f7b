import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { remainders, tiled } from './cover.js';
import { packInterleaved, packRows } from './panels.js';
import { registerLanes } from './shape.js';
import { mayBeginAnywhere } from '../../contraction/reach.js';
import { lesserSize, product } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import { scalarDTypes } from '../../../ops/elements.js';

/** Rows `i0 <= i < i1` of one product of the batch. */
export interface RowBlock {
  readonly batch: Expr;
  readonly i0: Expr;
  readonly i1: Expr;
}

/** Source of a tile's rows of `a`: in place, or in a copy, contiguous along `k` or interleaved. */
export type LeftForm = 'in place' | 'in rows' | 'interleaved';

/** The left operand of a product, block by block. */
export interface LeftOperand {
  /** Runs before a block is read. */
  prepare(block: RowBlock): Stmt;
  /** Reader for a tile of `count` rows from `first` on. */
  read(block: RowBlock, first: Expr, count: number): Contraction['a'];
}

/**
 * Padding between rows of a copy, whose distance must not be a power of two: they would compete for the same
 * sets of the first-level cache.
 */
const between = 16;

/** For tiles of `rows` rows, or the remainder, and blocks of at most `blockRows`. */
export function leftOf(
  spec: Contraction,
  form: LeftForm,
  rows: number,
  blockRows: number,
): LeftOperand {
  const { m, k, scalar, context } = spec;
  if (form === 'in place') return { prepare: () => e.block(), read: () => spec.a };
  const lanes = registerLanes(spec);
  const distance = form === 'in rows' ? e.add(k, between) : k;
  const copy = context.scratch(
    'rows',
    scalarDTypes[scalar],
    product(lesserSize(m, blockRows), distance),
  );
  const start = ({ i0 }: RowBlock, i: Expr): Expr => e.mul(e.sub(i, i0), distance);
  if (form === 'in rows')
    return {
      prepare: (block) => {
        const read = (i: Expr, at: Expr): Expr => spec.a(block.batch, i, at);
        return packRows(copy, distance, { read, begin: block.i0, end: block.i1, depth: k }, lanes);
      },
      read: (block) => (_, i, at) => e.load(copy, e.add(start(block, i), at)),
    };
  const packed = Math.min(lanes, lanesThatRowsAllow(spec, rows));
  return {
    prepare: (block) =>
      overRows(spec, rows, block, (first, width) => {
        const read = (i: Expr, at: Expr): Expr => spec.a(block.batch, i, at);
        const source = { read, start: first, width, from: e.i32(0), to: k };
        return packInterleaved(copy, start(block, first), source, packed);
      }),
    read: (block, first, count) => (_, i, at) =>
      e.load(copy, e.add(e.add(start(block, first), e.mul(at, count)), e.sub(i, first))),
  };
}

/**
 * The most lanes along `i` in tiles of so many rows. Tiles begin at any multiple of their height, lanes at a
 * multiple of their number unless `a` takes any (see `Contraction`).
 */
function lanesThatRowsAllow(spec: Contraction, rows: number): number {
  const [batch, i, k] = ['batch', 'i', 'k'].map((name) => e.variable(name, 'i32'));
  const lanes = Math.max(2, registerLanes(spec));
  return mayBeginAnywhere(spec.a(batch, e.ramp(i, 1, lanes), k), i) ? lanes : rows & -rows;
}

/** Covers the rows of a block with tiles. */
export function overRows(
  { m }: Contraction,
  rows: number,
  { i0, i1 }: RowBlock,
  body: (first: Expr, count: number) => Stmt,
): Stmt {
  return tiled('i', { begin: i0, end: i1 }, [rows, ...remainders(m, rows)], body);
}
