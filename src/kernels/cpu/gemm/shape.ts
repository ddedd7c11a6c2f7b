import { scalarBytes } from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import type { Target } from '../../../loop/language/target.js';
import { chooseBy } from '../../../loop/language/choices.js';
import type { Contraction } from '../../contraction/spec.js';

/** A tile of the result that fits the registers: rows, and vector registers across. */
export interface TileShape {
  readonly rows: number;
  readonly vectors: number;
}

/** Block sizes of a product. */
export interface Blocking {
  /** Rows of `a` that pass over a panel of `b`. */
  readonly blockRows: number;
  /** Depth of a panel. */
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
 * The vectors that make up so many elements: whole ones, halves of them, halves of those, and single lanes.
 * 128-bit registers of wide vectors are not halved, for which GCC uses general registers.
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

/** Lane counts of vectors, from whole vectors to single lanes. */
export function halvings(lanes: number): readonly number[] {
  const least = lanes > narrowLaneCount ? narrowLaneCount : 2;
  const found: number[] = [];
  for (let count = lanes; count >= least; count /= 2) found.push(count);
  return [...found, 1];
}

/** Lane count up to which vectors are narrow: lane-by-lane code costs little. */
export const narrowLaneCount = 4;

/**
 * The tile with the least time for so many rows and columns, by the bottleneck of its innermost loop, of all
 * tiles whose sums and operands fit the registers. Without sizes, the one that is best for large ones.
 */
export function bestTile(target: Target, m: Expr, n: Expr, lanes: number): TileShape {
  const tiles = (size: number | null, extent: number): number => {
    if (size === null) return 1 / extent;
    return Math.max(1, size / extent);
  };
  const chosen = chooseBy([m, n], (down, across) => {
    let best = 0;
    let least = Infinity;
    for (let vectors = 1; vectors <= mostVectors; vectors++) {
      for (let rows = 1; fits(target, rows, vectors); rows++) {
        const count = tiles(down, rows) * tiles(across, vectors * lanes);
        const cost = count * stepCost(target, rows, vectors);
        if (cost >= least * equal) continue;
        [best, least] = [rows * shapes + vectors, cost];
      }
    }
    return best;
  });
  if (chosen === 0) return { rows: 1, vectors: 1 };
  return { rows: Math.floor(chosen / shapes), vectors: chosen % shapes };
}

/** Tolerance for equal costs: of equals, narrower tiles are better at the edge. */
const equal = 1 - 1e-9;

/** Width limit: wider tiles are all limited by arithmetic, as narrower ones are, and waste more at the edge. */
const mostVectors = 4;

/** Of `bestTile`, whose choice is one number: more than `mostVectors`. */
const shapes = mostVectors + 1;

/**
 * Registers hold the sums, one row of `b`, and the loaded elements of `a`: one at a time where multiply-add
 * is one instruction; otherwise V8 issues all loads of the loop before the arithmetic, whose products take
 * one more (decision 4).
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

/** A height of no more than `most` that needs no more tiles for the rows, where known, and wastes least. */
export function balanced(m: Expr, most: number): number {
  return chooseBy([m], (rows) => {
    if (rows === null || rows === 0) return most;
    return Math.ceil(rows / Math.ceil(rows / most));
  });
}

/** Half cycles of one step along `k`, for two multiply-add units and two load units. */
function stepCost(target: Target, rows: number, vectors: number): number {
  const arithmetic = rows * vectors * (target.fusesMultiplyAdd ? 1 : 2);
  return Math.max(arithmetic, rows + vectors, latency) + counting;
}

/** Latency of an addition. */
const latency = 8;

/** Loop overhead of a step. */
const counting = 1;

/**
 * Block sizes by the caches: half of the second-level one for a panel of `b`. `k` is cut as rarely as
 * possible: between its parts all sums are stored and reloaded. Rows of `a` are reread for each panel, soon
 * enough to stay in the next cache and in order, so that they are prefetched; where all of `b` is packed only
 * once, blocks of them stay in the second-level cache. Rows that one block holds are not limited.
 */
export function blockingFor(
  target: Target,
  shape: TileShape,
  lanes: number,
  { m, k }: Pick<Contraction, 'm' | 'k'>,
  isWhole: boolean,
): Blocking {
  const { secondCache, vectorBytes } = target;
  const tileRows = balanced(m, shape.rows);
  const blockRows = chooseBy([m, k], (rows, depth) => {
    const rowBytes = Math.max(1, depth ?? unknownDepth) * (vectorBytes / lanes);
    const height = Math.max(leastRows, Math.floor((isWhole ? secondCache / 2 : lastCache) / rowBytes)); // prettier-ignore
    const inTiles = Math.floor(height / tileRows) * tileRows;
    return rows !== null && rows <= inTiles ? Infinity : inTiles;
  });
  return { blockDepth: Math.floor(secondCache / 2 / (shape.vectors * vectorBytes)), blockRows };
}

/** Bytes that may be expected to stay in the last-level cache, which is shared with others. */
const lastCache = 2 ** 22;

/** Assumed depth when `k` is unknown. */
const unknownDepth = 1024;

/** Least number of rows that pays for packing a panel. */
const leastRows = 96;
