import * as e from '../../../loop/build.js';
import type { Buffer, Expr, Stmt } from '../../../loop/nodes.js';
import { inRows, interleaved, packPanels, panelElements } from './panels.js';
import { type Blocking, lanesOf, type TileShape } from './shape.js';
import { dividedOf, type Range, rangeOf } from './region.js';
import { blockEnd, known, lesser, product, roundUp } from './sizes.js';
import { type Contraction, sumDTypes } from './spec.js';
import { registerTile, type TileForm } from './tile.js';

/** How a product is worked off. */
export interface PackedForm extends TileShape, Blocking {
  /** Whether the rows of `a` lie along `k`, so that their stretches are copied as they are. */
  readonly leftInRows: boolean;
}

/** The memory that a product works in. */
export interface Workspace {
  readonly left: Buffer;
  readonly right: Buffer;
  /** One register tile, for tiles that reach beyond the edge. */
  readonly edge: Buffer;
  /** The sums of a block while k takes several blocks; null where one is certainly enough. */
  readonly sums: Buffer | null;
}

/** Outer indices are `i0 <= i < i1` and `j0 <= j < j1`, inner ones `depth` many from `k0`. */
export interface Block {
  readonly batch: Expr;
  /** All rows that this thread has. */
  readonly rows: Range;
  readonly i0: Expr;
  readonly i1: Expr;
  readonly j0: Expr;
  readonly j1: Expr;
  readonly k0: Expr;
  readonly depth: Expr;
}

/**
 * Large products, after Goto and van de Geijn, "Anatomy of high-performance matrix multiplication"
 * (2008): blocks of the operands are copied into panels that lie in the order in which the innermost
 * loop reads them, and that loop keeps a tile of the result in registers. At the edges panels are
 * filled up with repeated rows and columns, whose sums are dropped, so the innermost loop has one form.
 */
export function contractPacked(spec: Contraction, packed: PackedForm): Stmt {
  const form = formOf(spec, packed);
  const workspace = allocate(spec, packed, form);
  const { blockRows, blockColumns } = packed;
  const divided = dividedOf(spec, form.rows, form.columns);
  const products = rangeOf(spec, divided, 'batch', 1);
  const rows = rangeOf(spec, divided, 'rows', form.rows);
  const columns = rangeOf(spec, divided, 'columns', form.columns);
  return e.forLoop('batch', products.begin, products.end, (batch) =>
    e.forLoop(
      'columns',
      columns.begin,
      columns.end,
      (j0) =>
        e.forLoop(
          'rows',
          rows.begin,
          rows.end,
          (i0) => {
            const i1 = blockEnd(i0, blockRows, rows.end);
            const j1 = blockEnd(j0, blockColumns, columns.end);
            return alongDepth(spec, form, workspace, { batch, rows, i0, i1, j0, j1 });
          },
          { step: blockRows },
        ),
      { step: blockColumns },
    ),
  );
}

function formOf(
  spec: Contraction,
  { rows, vectors, blockDepth, leftInRows }: PackedForm,
): TileForm {
  const lanes = lanesOf(spec);
  const mostDepth = Math.min(blockDepth, known(spec.k) ?? blockDepth);
  return {
    rows,
    columns: vectors * lanes,
    lanes,
    blockDepth,
    left: leftInRows ? inRows(rows, mostDepth) : interleaved(rows),
  };
}

/** Blocks are no larger than the matrices need. */
function allocate(
  { m, n, k, scalar, context }: Contraction,
  { blockRows, blockColumns }: Blocking,
  { rows, columns, blockDepth, left }: TileForm,
): Workspace {
  const height = lesser(roundUp(m, rows), blockRows);
  const width = lesser(roundUp(n, columns), blockColumns);
  const depth = lesser(k, blockDepth);
  const scratch = (name: string, ...extents: readonly (Expr | number)[]): Buffer =>
    context.scratch(name, sumDTypes[scalar], product(...extents));
  return {
    left: scratch('packedLeft', panelElements(left, height, depth)),
    right: scratch('packedRight', width, depth),
    edge: scratch('edgeTile', rows, columns),
    sums: isWithin(k, blockDepth) ? null : scratch('partialSums', height, width),
  };
}

function isWithin(size: Expr, limit: number): boolean {
  const value = known(size);
  return value !== null && value <= limit;
}

/** One block of the result, in one or more blocks of k. */
function alongDepth(
  spec: Contraction,
  form: TileForm,
  workspace: Workspace,
  region: Omit<Block, 'k0' | 'depth'>,
): Stmt {
  const { k } = spec;
  const { blockDepth } = form;
  if (workspace.sums === null)
    return oneBlock(spec, form, workspace, { ...region, k0: e.i32(0), depth: k });
  return e.forLoop(
    'depth',
    0,
    e.max(k, 1), // at least one block: with k = 0 the empty sums must be stored too
    (k0) => {
      const depth = e.sub(blockEnd(k0, blockDepth, k), k0);
      return oneBlock(spec, form, workspace, { ...region, k0, depth });
    },
    { step: blockDepth },
  );
}

function oneBlock(spec: Contraction, form: TileForm, workspace: Workspace, block: Block): Stmt {
  const { m, n, k } = spec;
  const { rows, columns, lanes, blockDepth, left } = form;
  const { batch, i0, i1, j0, j1, k0, depth } = block;
  const packLeft = packPanels(
    workspace.left,
    { read: (i, at) => spec.a(batch, i, at), extent: m, begin: i0, end: i1, from: k0, depth },
    left,
    lanes,
  );
  const packRight = packPanels(
    workspace.right,
    { read: (j, at) => spec.b(batch, at, j), extent: n, begin: j0, end: j1, from: k0, depth },
    interleaved(columns),
    lanes,
  );
  // A block of `b` that spans all of k stays valid from one block of rows to the next.
  const isStale = e.or(e.eq(i0, block.rows.begin), e.gt(k, blockDepth));
  return e.block(
    e.ifThen(isStale, packRight),
    packLeft,
    e.forLoop(
      'j',
      j0,
      j1,
      (j) =>
        e.forLoop('i', i0, i1, (i) => registerTile(spec, form, workspace, block, { i, j }), {
          step: rows,
        }),
      { step: columns },
    ),
  );
}
