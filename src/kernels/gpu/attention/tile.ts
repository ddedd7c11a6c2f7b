import type { Expr } from '../../../loop/language/nodes.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';
import type { Access } from '../../../ops/declare/lowering.js';
import {
  type AttentionAttributes,
  attentionScalar,
} from '../../../ops/normalization/attention-nests.js';
import { known, product } from '../../contraction/sizes.js';
import { chosenCandidate, type KernelCall } from '../choices.js';
import { mostResultElements } from '../product/results.js';
import {
  invocationsOf,
  mostElements,
  panelElements,
  type ProductTile,
  wideOf,
} from '../product/tile.js';

/** Widths of queries and keys, and of values. */
export interface HeadWidths {
  readonly size: number;
  readonly channels: number;
}

/** The widths of heads; null where one is not known. */
export function widthsOf(q: Access, v: Access): HeadWidths | null {
  const [size, channels] = [known(q.shape.at(-1)!), known(v.shape.at(-1)!)];
  return size === null || channels === null ? null : { size, channels };
}

/** Products of a kernel of attention: widths of rows that are multiplied into scores, and of rows that scores multiply. */
export interface TileWork {
  readonly scores: readonly number[];
  readonly results: readonly number[];
}

/**
 * Scores of a workgroup at a time: those of its own rows and of columns that are passing by. An invocation has some rows
 * and a vector of columns.
 */
export type ScoreTile = Pick<ProductTile, 'rows' | 'across' | 'below'>;

/** Rows of the workgroup. */
export function heightOf({ rows, below }: ScoreTile): number {
  return rows * below;
}

/** Columns that pass by together. */
export function columnsAtOnce({ across }: ScoreTile): number {
  return across * lanes;
}

/** Elements of the table of scores in memory of the workgroup. */
export function tableElements(tile: ScoreTile): number {
  return heightOf(tile) * columnsAtOnce(tile);
}

/** Steps along a width for which both rows and columns may be in memory. */
const scoreDepths = [32, 16, 8];

/** Panels of the product of rows and columns along a width. */
export function scorePanels(tile: ScoreTile, width: number): ProductTile {
  // The end of a panel, and two barriers, take about as long as four steps.
  const cost = (depth: number): number => Math.ceil(width / depth) * (depth + lanes);
  return scoreDepths
    .map((depth): ProductTile => ({ ...tile, vectors: 1, depth }))
    .filter((panels) => panelElements(panels) <= mostElements)
    .reduce((best, panels) => (cost(panels.depth) < cost(best.depth) ? panels : best));
}

/** The product of scores and rows of a width: a panel of these lies beside the table. */
export function resultPanels(tile: ScoreTile, width: number): ProductTile {
  const vectors = Math.ceil(width / columnsAtOnce(tile));
  const room = (mostElements - tableElements(tile)) / (vectors * columnsAtOnce(tile));
  return {
    ...tile,
    vectors,
    depth: Math.min(columnsAtOnce(tile), 2 ** Math.floor(Math.log2(room))),
  };
}

/** Elements in memory of the workgroup, in which each invocation has a vector at least. */
export function elementsOf(tile: ScoreTile, { scores, results }: TileWork): number {
  const beside = results.map((width) => {
    const panels = resultPanels(tile, width);
    return Math.max(
      tableElements(tile) + panels.depth * wideOf(panels),
      mostResultElements(panels),
    );
  });
  const panels = scores.map((width) => panelElements(scorePanels(tile, width)));
  return Math.max(...panels, ...beside, invocationsOf(tile) * lanes);
}

/** Vectors of an invocation: results, and scores of which each product has some. */
function vectorsOf(tile: ScoreTile, { scores, results }: TileWork): number {
  const each = results.map((width) => resultPanels(tile, width).vectors);
  return tile.rows * each.reduce((a, b) => a + b, scores.length);
}

/** Vectors of an invocation that GPUs have registers for: always, and of some. */
const usualVectors = 20;
const mostVectors = 24;

/** Workgroups below which lower tiles, of which there are more, fill a GPU better. */
const fewGroups = 64;

const tiles: readonly ScoreTile[] = [
  { rows: 4, across: 8, below: 16 },
  { rows: 4, across: 16, below: 8 },
  { rows: 2, across: 8, below: 32 },
  { rows: 2, across: 8, below: 16 },
  { rows: 4, across: 8, below: 8 },
  { rows: 2, across: 16, below: 8 },
  { rows: 1, across: 32, below: 8 },
];

/** The tiles whose results fit into registers, and panels into the memory of a workgroup. */
export function attentionTiles(work: TileWork): readonly ScoreTile[] {
  if ([...work.scores, ...work.results].includes(0)) return [];
  return tiles.filter(
    (tile) =>
      vectorsOf(tile, work) <= mostVectors &&
      work.results.every((width) => resultPanels(tile, width).depth >= lanes),
  );
}

/** Rows of a workgroup. From the second on there have to be groups enough. */
const heights = [8, 16, 32, 64];

/** The rows of a workgroup that suit so many of each head; null where these are not known. */
function usualHeight(rows: number | null, heads: number | null): number {
  if (rows === null) return 32;
  const least = heights.find((height) => rows <= height) ?? 64;
  const hasEnough = (height: number): boolean => heads === null || heads * Math.ceil(rows / height) >= fewGroups;
  return heights.findLast((height) => height <= least && (height <= 16 || hasEnough(height)))!;
} // prettier-ignore

/**
 * The tile of a call whose first operands are queries, keys and values, for rows of each of the heads in `outer`; null
 * where none fits.
 */
export function tileOf(
  call: KernelCall,
  work: TileWork,
  [q, k, v]: readonly Access[],
  outer: readonly Expr[],
  rows: Expr,
): ScoreTile | null {
  const fitting = attentionScalar(q) === 'f32' ? attentionTiles(work) : [];
  if (fitting.length === 0) return null;
  const [heads, height] = [known(product(...outer)), known(rows)];
  const wanted = usualHeight(height, heads);
  const suiting = fitting.filter((tile) => heightOf(tile) <= wanted && vectorsOf(tile, work) <= usualVectors);
  const isNarrow = (tile: ScoreTile): boolean => work.results.every((width) => columnsAtOnce(tile) < 2 * width);
  const usual = suiting.find(isNarrow) ?? suiting[0] ?? fitting.at(-1)!;
  const others = fitting.filter((tile) => height === null || heightOf(tile) < 2 * Math.max(height, 8));
  return chosenCandidate(call, {
    kind: 'rows',
    traits: [(call.attributes as AttentionAttributes).causal ? 'causal' : 'all'], // of a call of attention
    sizes: [heads, ...[q, k, k, v].map(({ shape }, i) => known(shape.at(i < 2 ? -2 : -1)!))],
    candidates: new Map([usual, ...others].map((tile) => [nameOf(tile), tile])),
    // Exponentials are rounded; a last digit of the narrowest floats is the most.
    margin: call.types[0].dtype === 'float32' ? 2 ** -12 : 2 ** -6,
  });
} // prettier-ignore

function nameOf(tile: ScoreTile): string {
  return `${heightOf(tile)}x${columnsAtOnce(tile)} by ${tile.rows}x${lanes}`;
}
