import { canHaveTotals } from './blocks.js';
import { known } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';

/** Results of a workgroup, by what its invocations have of them. All numbers are powers of two. */
export interface ProductTile {
  /** Rows of one invocation. */
  readonly rows: number;
  /** Vectors of columns of one invocation. */
  readonly vectors: number;
  /** Invocations beside each other, and below each other. */
  readonly across: number;
  readonly below: number;
  /** Steps along `k` for which a workgroup holds both operands. */
  readonly depth: number;
}

/** Invocations of a workgroup. */
export function invocationsOf({ across, below }: Pick<ProductTile, 'across' | 'below'>): number {
  return across * below;
}

/** Rows of the workgroup. */
export function highOf({ rows, below }: ProductTile): number {
  return below * rows;
}

/** Columns of the workgroup. */
export function wideOf({ vectors, across }: ProductTile): number {
  return across * vectors * lanes;
}

/** Elements that fit into the memory of a workgroup. */
export const mostElements: number = 2 ** 12;

/** Elements of a row of the left operand in memory: rows that are read together lie in different banks. */
export function pitchOf({ across, depth }: ProductTile): number {
  return across < 16 ? depth + lanes : depth;
}

/** Elements of the left operand in memory. */
export function leftElements(tile: ProductTile): number {
  return highOf(tile) * pitchOf(tile);
}

/** Elements of both operands in memory. */
export function panelElements(tile: ProductTile): number {
  return leftElements(tile) + tile.depth * wideOf(tile);
}

/** Workgroups below which smaller tiles, of which there are more, fill a GPU better. */
const fewGroups = 64;

/** Workgroups from which on the largest tiles fill a GPU. */
const manyGroups = 128;

/** Invocations and steps of the tiles that are taken without a measurement. */
const usualInvocations = 256;
const usualDepth = 16;

/** Invocations beside each other. The usual number has as many below each other as fit. */
function tileOf(rows: number, vectors: number, across: number, below: number = usualInvocations / across, depth: number = usualDepth): ProductTile {
  return { rows, vectors, across, below, depth };
} // prettier-ignore

const largest = tileOf(8, 2, 16);

/**
 * The tile for a size class. More results for each invocation are more products for each read of the workgroup's
 * memory, and fewer reads of the operands.
 */
export function tileFor(spec: Contraction): ProductTile {
  const [rows, columns, products] = [spec.m, spec.n, spec.batch].map(known);
  const groupsOf = (tile: ProductTile): number =>
    rows === null || columns === null || products === null
      ? NaN
      : products * Math.ceil(rows / highOf(tile)) * Math.ceil(columns / wideOf(tile));
  const fills = [rows, columns].every((extent) => extent !== null && extent % 128 === 0);
  const isPossible = canHaveTotals(largest.rows * largest.vectors, largest.depth, spec);
  if (fills && isPossible && groupsOf(largest) >= manyGroups) return largest;
  const across = columns === null || columns > 32 ? 16 : columns > 16 ? 8 : 4;
  const down = usualInvocations / across;
  // A side of which nothing is known, such as a batch, may be short; the narrowest tiles are high enough.
  const most = across === 4 ? 2 : 4;
  const wanted = rows === null ? 2 : rows <= down ? 1 : rows <= 2 * down ? 2 : most;
  const tile = tileOf(wanted, 1, across);
  const isFew = groupsOf(tile) < fewGroups && wanted > 1;
  return isFew ? { ...tile, rows: wanted === 4 ? 2 : 1 } : tile;
}

/**
 * Tiles among which a measurement decides: GPUs differ in how many invocations share a core, in registers, and in the
 * memory of a workgroup. The largest and those of few invocations are best on different ones.
 */
const alternatives: readonly ProductTile[] = [
  largest,
  tileOf(4, 2, 16),
  tileOf(8, 1, 16),
  tileOf(4, 1, 16),
  tileOf(2, 1, 16),
  tileOf(1, 1, 16),
  tileOf(4, 1, 16, 16, 32),
  tileOf(4, 1, 16, 16, 8),
  tileOf(8, 1, 16, 8),
  tileOf(4, 2, 8, 16),
  tileOf(8, 2, 8, 8),
  tileOf(4, 2, 8, 8),
  tileOf(4, 1, 8, 8),
  tileOf(2, 1, 8, 8),
  tileOf(4, 1, 8, 32),
  tileOf(1, 1, 8, 32),
  tileOf(2, 1, 4, 64),
  tileOf(2, 1, 4, 16),
];

/** The tiles for a contraction by their names, the usual one first. */
export function tilesFor(spec: Contraction): ReadonlyMap<string, ProductTile> {
  const usual = tileFor(spec);
  const others = alternatives.filter((tile) => isUseful(tile, spec));
  return new Map([usual, ...others].map((tile) => [nameOf(tile), tile]));
}

function isUseful(tile: ProductTile, spec: Contraction): boolean {
  if (panelElements(tile) > mostElements) return false;
  if (!canHaveTotals(tile.rows * tile.vectors, tile.depth, spec)) return false;
  const isMostlyEmpty = (extent: number | null, side: number): boolean => extent !== null && side > 16 && side >= 2 * extent; // prettier-ignore
  return !isMostlyEmpty(known(spec.m), highOf(tile)) && !isMostlyEmpty(known(spec.n), wideOf(tile));
}

function nameOf(tile: ProductTile): string {
  const { rows, vectors, depth } = tile;
  return `${highOf(tile)}x${wideOf(tile)}x${depth} by ${rows}x${vectors * lanes}`;
}
