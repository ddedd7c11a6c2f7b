import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { type PackedMemory, type PackedSize, packedStates } from '../../../ops/declare/lowering.js';
import { packInterleaved, packTurned } from './panels.js';
import { registerLanes } from './shape.js';
import { lesserSize, product } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import { scalarDTypes } from '../../../ops/elements.js';
import { along } from './tile.js';

/** Neighboring columns, as many as a tile has, in a range of `k`. */
export interface Panel {
  readonly batch: Expr;
  readonly start: Expr;
  readonly width: number;
  readonly from: Expr;
  readonly to: Expr;
}

/** The right operand of a product, in panels. */
export interface RightOperand {
  /** Runs before all else. */
  readonly begin: Stmt;
  /** Packs a panel. */
  copy(panel: Panel): Stmt;
  /** Reader for tiles. */
  read(panel: Panel): Contraction['b'];
}

export interface RightForm {
  /** True when columns are contiguous along `k`, so that packing transposes. */
  readonly isTurned: boolean;
  /** Width of the widest panel, and its greatest depth. */
  readonly width: number;
  readonly depth: number;
  /** True when there is memory for all panels, false for one at a time. */
  readonly isWhole: boolean;
  /** Memory in which panels may be present already; null where they are not. */
  readonly kept: PackedMemory | null;
}

/** The elements of panels: all of them where they are kept or packed as a whole. */
export function roomForPanels(
  k: number,
  n: number,
  { width, depth, isWhole }: Pick<RightForm, 'width' | 'depth' | 'isWhole'>,
): PackedSize {
  const whole = k * n;
  return { whole, part: isWhole ? whole : Math.min(k, depth) * width };
}

export function rightOf(spec: Contraction, form: RightForm): RightOperand {
  const { n, k, scalar, context } = spec;
  const { isTurned, width, depth, isWhole, kept } = form;
  const size = isWhole ? product(k, n) : product(lesserSize(k, depth), width);
  const copies = kept?.buffer ?? context.scratch('panels', scalarDTypes[scalar], size);
  /** 1 where panels are kept, so that each has its own memory; 0 where all share the same. */
  const stays = e.variable('stays', 'i32');
  const place = ({ start, from, width }: Panel): Expr => {
    const whole = e.add(e.mul(start, k), e.mul(from, width));
    if (isWhole || kept?.isCertain === true) return whole;
    return kept === null ? e.i32(0) : e.mul(whole, stays);
  };
  const copy = (panel: Panel): Stmt => {
    const source = { ...panel, read: (j: Expr, at: Expr) => spec.b(panel.batch, at, j) };
    if (isTurned) return packTurned(copies, place(panel), source);
    return packInterleaved(copies, place(panel), source, registerLanes(spec));
  };
  return {
    begin: kept === null ? e.block() : e.declare(stays, e.min(kept.state, 1)),
    copy: (panel) =>
      kept === null ? copy(panel) : e.ifThen(e.lt(kept.state, packedStates.full), copy(panel)),
    read: (panel) => (_, at, j) => {
      const row = e.add(place(panel), e.mul(e.sub(at, panel.from), panel.width));
      return e.load(copies, along(e.sub(row, panel.start), j));
    },
  };
}
