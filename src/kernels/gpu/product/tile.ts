import { known } from '../../contraction/sizes.js';
import { isLong } from '../../contraction/long-sums.js';
import type { Contraction } from '../../contraction/spec.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';

/** Invocations of a workgroup. */
export const invocations = 256;

/** Steps along `k` for which a workgroup holds both operands. */
export const depth = 16;

/** Results of a workgroup, by what its invocations have of them. */
export interface ProductTile {
  /** Rows of one invocation. */
  readonly rows: 1 | 2 | 4 | 8;
  /** Vectors of columns of one invocation. */
  readonly vectors: 1 | 2;
  /** Invocations beside each other; the others are below each other. */
  readonly across: 4 | 8 | 16;
}

/** Rows of the workgroup. */
export function highOf({ rows, across }: ProductTile): number {
  return (invocations / across) * rows;
}

/** Columns of the workgroup. */
export function wideOf({ vectors, across }: ProductTile): number {
  return across * vectors * lanes;
}

/** Workgroups below which smaller tiles, of which there are more, fill a GPU better. */
const fewGroups = 64;

/** Workgroups from which on the largest tiles fill a GPU. */
const manyGroups = 128;

const largest: ProductTile = { rows: 8, vectors: 2, across: 16 };

/**
 * The tile for a size class. More results for each invocation are more products for each read of the workgroup's
 * memory, and fewer reads of the operands; sums that carry what they round away take three times as many registers.
 */
export function tileFor(spec: Contraction): ProductTile {
  const [rows, columns, products] = [spec.m, spec.n, spec.batch].map(known);
  const groupsOf = (tile: ProductTile): number =>
    rows === null || columns === null || products === null
      ? NaN
      : products * Math.ceil(rows / highOf(tile)) * Math.ceil(columns / wideOf(tile));
  const fills = [rows, columns].every((extent) => extent !== null && extent % 128 === 0);
  if (fills && !isLong(spec) && groupsOf(largest) >= manyGroups) return largest;
  const across = columns === null || columns > 32 ? 16 : columns > 16 ? 8 : 4;
  const down = invocations / across;
  // A side of which nothing is known, such as a batch, may be short; the narrowest tiles are high enough.
  const most = across === 4 ? 2 : 4;
  const wanted = rows === null ? 2 : rows <= down ? 1 : rows <= 2 * down ? 2 : most;
  const tile = { rows: wanted, vectors: 1, across } as const;
  const isFew = groupsOf(tile) < fewGroups && wanted > 1;
  return isFew ? { ...tile, rows: wanted === 4 ? 2 : 1 } : tile;
}
