import { scalarBytes } from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import type { Target } from '../../../loop/language/target.js';
import { known } from './sizes.js';
import type { Contraction } from './spec.js';

/** A tile of the result that fits the registers: rows, and vector registers across. */
export interface TileShape {
  readonly rows: number;
  readonly vectors: number;
}

/** How much is worked off at a time. */
export interface Blocking {
  /** Rows of `a` that pass over a panel of `b`. */
  readonly blockRows: number;
  /** The most of `k` that a panel holds. */
  readonly blockDepth: number;
}

/** Elements of one vector register. */
export function registerLanes({
  context,
  scalar,
}: Pick<Contraction, 'context' | 'scalar'>): number {
  return context.target.vectorBytes / scalarBytes(scalar);
}

/**
 * The vectors that make up so many elements: whole ones, halves of them, halves of those, and single lanes. Of
 * wide vectors no halves of 128-bit registers are made, for which GCC takes general registers.
 */
export function pieces(
  width: number,
  lanes: number,
): readonly { readonly start: number; readonly count: number }[] {
  const found: { start: number; count: number }[] = [];
  let start = 0;
  for (const count of halvings(lanes)) {
    for (; start + count <= width; start += count) found.push({ start, count });
  }
  return found;
}

/** The numbers of lanes that vectors are made of, from whole vectors to single lanes. */
export function halvings(lanes: number): readonly number[] {
  const least = lanes > narrowLaneCount ? narrowLaneCount : 2;
  const found: number[] = [];
  for (let count = lanes; count >= least; count /= 2) found.push(count);
  return [...found, 1];
}

/** Vectors of no more lanes are narrow: what is done lane by lane costs little. */
export const narrowLaneCount = 4;

/**
 * The tile that takes the least time for so many rows and columns, by what limits its innermost loop, of
 * all tiles whose sums and operands fit the registers. Without sizes, the one that is best for large ones.
 */
export function bestTile(target: Target, m: Expr, n: Expr, lanes: number): TileShape {
  const tiles = (size: number | null, extent: number): number => {
    if (size === null) return 1 / extent;
    return Math.max(1, size / extent);
  };
  let best: TileShape = { rows: 1, vectors: 1 };
  let least = Infinity;
  for (let vectors = 1; vectors <= mostVectors; vectors++) {
    for (let rows = 1; fits(target, rows, vectors); rows++) {
      const count = tiles(known(m), rows) * tiles(known(n), vectors * lanes);
      const cost = count * stepCost(target, rows, vectors);
      if (cost >= least * equal) continue;
      [best, least] = [{ rows, vectors }, cost];
    }
  }
  return best;
}

/** What rounding makes of costs that are alike: of those, narrower tiles are better at the edge. */
const equal = 1 - 1e-9;

/** Wider tiles are all limited by arithmetic, as narrower ones are, and waste more at the edge. */
const mostVectors = 4;

/**
 * Registers hold the sums, one row of `b`, and what is loaded of `a`: one element at a time where an
 * instruction adds a product to a sum; else V8 issues all loads of the loop before the arithmetic, whose
 * products take one more (decision 4).
 */
function fits(target: Target, rows: number, vectors: number): boolean {
  const others = target.fusesMultiplyAdd ? 1 : rows + 1;
  return rows * vectors + vectors + others <= target.vectorRegisters;
}

/** The most rows of a tile with so many vectors across; one, where not even that fits. */
export function tallest(target: Target, vectors: number): number {
  let rows = 1;
  while (fits(target, rows + 1, vectors)) rows++;
  return rows;
}

/** A height of no more than `most` of which the rows, where known, need no more tiles, and which wastes least. */
export function balanced(m: Expr, most: number): number {
  const rows = known(m);
  if (rows === null || rows === 0) return most;
  return Math.ceil(rows / Math.ceil(rows / most));
}

/** Half cycles of one step along `k`, for two units that multiply and add, and two that load. */
function stepCost(target: Target, rows: number, vectors: number): number {
  const arithmetic = rows * vectors * (target.fusesMultiplyAdd ? 1 : 2);
  return Math.max(arithmetic, rows + vectors, latency) + counting;
}

/** Until a sum can be added to again. */
const latency = 8;

/** What counting and branching take of a step. */
const counting = 1;

/**
 * Blocks after the caches: half of the second one for a panel of `b`. `k` is cut as rarely as possible: between
 * its parts all sums go to memory and come back. Rows of `a` come back for each panel, soon enough to stay in
 * the cache behind it and in order, so that they are fetched ahead of time; where all of `b` is copied only once,
 * blocks of them stay in the second cache.
 */
export function blockingFor(
  target: Target,
  shape: TileShape,
  lanes: number,
  k: Expr,
  isWhole: boolean,
): Blocking {
  const { secondCache, vectorBytes } = target;
  const rowBytes = Math.max(1, known(k) ?? unknownDepth) * (vectorBytes / lanes);
  const height = Math.floor((isWhole ? secondCache / 2 : lastCache) / rowBytes);
  return {
    blockDepth: Math.floor(secondCache / 2 / (shape.vectors * vectorBytes)),
    blockRows: Math.max(leastRows, height),
  };
}

/** Bytes that may be expected to stay in the last cache, which is shared with others. */
const lastCache = 2 ** 22;

/** What is reckoned with where `k` is not known. */
const unknownDepth = 1024;

/** Fewer rows would not pay for copying a panel. */
const leastRows = 96;
