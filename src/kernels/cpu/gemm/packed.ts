import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import type { PackedMemory } from '../../../ops/declare/lowering.js';
import { columnsOf } from './columns.js';
import { alongDepth } from './cover.js';
import { type LeftForm, leftOf, overRows, type RowBlock } from './left.js';
import { dividedOf, overKind } from './region.js';
import { type Panel, rightOf } from './right.js';
import { balanced, type Blocking, registerLanes, type TileShape } from './shape.js';
import { blockEnd, indices, isWithin, lesserSize, product } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import {
  columnsAt,
  memoryForSums,
  registerTile,
  type TileSums,
  tileSums,
  type WaitingSums,
} from './tile.js';

/** Strategy of a packed product. */
export interface PackedForm extends TileShape, Blocking {
  readonly left: LeftForm;
  /** True when columns of `b` are contiguous along `k`, so that packing transposes. */
  readonly isTurned: boolean;
  /**
   * True when `b` is so small that it is packed as a whole before the first row; `k` is static then, and not
   * cut.
   */
  readonly isWhole: boolean;
  /** Memory in which panels may be present from an earlier run; sizes are static then. */
  readonly kept?: PackedMemory | null;
}

/**
 * Large products: a panel of `b`, as wide as a register tile, is packed in the order in which the innermost
 * loop reads it, and all rows of a block of `a` pass over it. So `b` is read from memory once for each block,
 * its packed copy stays in the caches of this core, and `a` is read in memory order. Of a small `b` all
 * panels are packed first, and blocks of `a` are so small that they stay in the second-level cache while the
 * panels pass.
 *
 * Packing and tiles are those of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication"
 * (2008), whose blocks of both operands are larger than these (decision 42).
 */
export function contractPacked(spec: Contraction, form: PackedForm): Stmt {
  const { m, k } = spec;
  const { kept = null } = form;
  const full = form.vectors * registerLanes(spec);
  // One height for all tiles, for which interleaved rows are packed.
  const rows = balanced(m, form.rows);
  const blockRows = Math.max(1, Math.floor(form.blockRows / rows)) * rows;
  const left = leftOf(spec, form.left, rows, blockRows);
  const right = rightOf(spec, { ...form, kept, width: full, depth: form.blockDepth });
  const waiting = waitingSums(spec, form, blockRows);

  const multiply = (block: RowBlock, panel: Panel, first: Expr, count: number): Stmt => {
    const { batch, from, to, start, width } = panel;
    const operands = { ...spec, a: left.read(block, first, count), b: right.read(panel) };
    const part = { batch, from, to, waiting: waiting(block, panel) };
    return registerTile(
      operands,
      part,
      indices(first, count),
      columnsAt(start, width, registerLanes(spec)),
    );
  };
  // All threads share kept panels: each has its own columns, so that no two make the same panel.
  const divided = kept === null ? dividedOf(spec, rows, full) : spec.context.isDivided ? 'columns' : 'nothing'; // prettier-ignore
  const columns = columnsOf(spec, divided, full);
  const pass = (block: RowBlock, panel: Panel): Stmt =>
    overRows(spec, rows, block, (i, count) => multiply(block, panel, i, count));
  const panelByPanel = (block: RowBlock): Stmt =>
    columns.all((start, width) =>
      alongDepth(k, form.blockDepth, (from, to) => {
        const panel = { batch: block.batch, start, width, from, to };
        return e.block(right.copy(panel), pass(block, panel));
      }),
    );
  const copyAll = (batch: Expr): Stmt => {
    const copy = (from: Expr, to: Expr): Stmt =>
      columns.all((start, width) => right.copy({ batch, start, width, from, to }));
    if (form.isTurned) return copy(e.i32(0), k);
    return e.forLoop('strip', 0, k, (from) => copy(from, blockEnd(from, strip, k)), {
      step: strip,
    });
  };
  const allCopied = (block: RowBlock): Stmt =>
    columns.all((start, width) =>
      pass(block, { batch: block.batch, start, width, from: e.i32(0), to: k }),
    );
  const work = (block: RowBlock): Stmt =>
    e.block(left.prepare(block), form.isWhole ? allCopied(block) : panelByPanel(block));
  const eachBlock = (batch: Expr): Stmt =>
    overKind(
      spec,
      divided,
      'rows',
      rows,
      ({ begin, end }) =>
      // A loop of one block would differ from size to size by its step alone (`loop/optimize/lift.ts`).
      isWithin(m, blockRows)
        ? work({ batch, i0: begin, i1: end })
        : e.forLoop('rows', begin, end, (i0) => work({ batch, i0, i1: blockEnd(i0, blockRows, end) }), { step: blockRows }), // prettier-ignore
    );
  const all = overKind(spec, divided, 'batch', 1, (products) =>
    e.forLoop('batch', products.begin, products.end, (batch) =>
      form.isWhole ? e.block(copyAll(batch), eachBlock(batch)) : eachBlock(batch),
    ),
  );
  return e.block(right.begin, all);
}

/** Rows of `b` that are packed together for all columns: they are read in memory order. */
const strip = 16;

/** Memory for the sums of a block and a panel; none while one range of `k` certainly suffices. */
function waitingSums(
  spec: Contraction,
  { rows, vectors, blockDepth, isWhole }: PackedForm,
  blockRows: number,
): (block: RowBlock, panel: Panel) => WaitingSums | TileSums | null {
  const { m, k } = spec;
  if (isWhole || isWithin(k, blockDepth)) {
    const sums = tileSums(spec, { rows, vectors });
    return () => sums;
  }
  const memory = memoryForSums(
    spec,
    { rows, vectors },
    product(lesserSize(m, blockRows), vectors * registerLanes(spec)),
  );
  return ({ i0 }, { start, width }) => {
    return { ...memory, row: (i) => e.mul(e.sub(i, i0), width), first: start };
  };
}
