import * as e from '../../../loop/language/build.js';
import { known } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';

/** Invocations along each side of a tile; 256 of them are the workgroup. */
export const side = 16;

/** Steps along `k` for which a workgroup holds both operands. */
export const depth = 16;

/** Results of one invocation: a tile of the workgroup has `side` times as many rows and columns. */
export interface ProductTile {
  readonly rows: 1 | 2 | 4;
  readonly columns: 1 | 2 | 4;
}

/** Workgroups below which smaller tiles, of which there are more, fill a GPU better. */
const fewGroups = 64;

/** Extents up to which a side has so many results for each invocation. */
const sides: readonly (readonly [most: number, results: 1 | 2])[] = [
  [16, 1],
  [32, 2],
];

/** Results along a side of which nothing is known: a batch may be short. */
const unknown = 2;

/**
 * The tile for a size class. More results for each invocation are more products for each read of the workgroup's
 * memory, and fewer reads of the operands; 16 kB hold 16 results of 4 bytes for each invocation, or 4 of 8.
 */
export function tileFor({ batch, m, n, scalar }: Contraction): ProductTile {
  const most = e.scalarBytes(scalar) === 8 ? 2 : 4;
  const along = (extent: number | null): 1 | 2 | 4 => {
    if (extent === null) return unknown;
    return sides.find(([limit]) => extent <= limit)?.[1] ?? most;
  };
  const [rows, columns, products] = [known(m), known(n), known(batch)];
  const tile = { rows: along(rows), columns: along(columns) };
  if (rows === null || columns === null || products === null) return tile;
  const groups =
    products * Math.ceil(rows / (side * tile.rows)) * Math.ceil(columns / (side * tile.columns));
  if (groups >= fewGroups) return tile;
  return { rows: tile.rows === 4 ? 2 : tile.rows, columns: tile.columns === 4 ? 2 : tile.columns };
}
