import * as e from '../../../loop/build.js';
import type { Expr, Stmt } from '../../../loop/nodes.js';
import { packInterleaved, packTurned } from './panels.js';
import { lanesOf } from './shape.js';
import { lesser, product } from './sizes.js';
import { type Contraction, sumDTypes } from './spec.js';
import { along } from './tile.js';

/** Neighbouring columns, as many as a tile has, and a stretch of `k`. */
export interface Panel {
  readonly batch: Expr;
  readonly start: Expr;
  readonly width: number;
  readonly from: Expr;
  readonly to: Expr;
}

/** The right operand of a product, in panels. */
export interface Right {
  /** Copies a panel. */
  copy(panel: Panel): Stmt;
  /** How tiles read it. */
  read(panel: Panel): Contraction['b'];
}

export interface RightForm {
  /** Whether columns lie along `k`, so that they have to be turned. */
  readonly isTurned: boolean;
  /** The widest panel, and the most of `k` in it. */
  readonly width: number;
  readonly depth: number;
  /** Whether all panels are kept, or one at a time. */
  readonly isWhole: boolean;
}

export function rightOf(spec: Contraction, { isTurned, width, depth, isWhole }: RightForm): Right {
  const { n, k, scalar, context } = spec;
  const size = isWhole ? product(k, n) : product(lesser(k, depth), width);
  const copies = context.scratch('panels', sumDTypes[scalar], size);
  const place = ({ start, from, width }: Panel): Expr =>
    isWhole ? e.add(e.mul(start, k), e.mul(from, width)) : e.i32(0);
  return {
    copy: (panel) => {
      const source = { ...panel, read: (j: Expr, at: Expr) => spec.b(panel.batch, at, j) };
      if (isTurned) return packTurned(copies, place(panel), source);
      return packInterleaved(copies, place(panel), source, lanesOf(spec));
    },
    read: (panel) => (_, at, j) => {
      const row = e.add(place(panel), e.mul(e.sub(at, panel.from), panel.width));
      return e.load(copies, along(e.sub(row, panel.start), j));
    },
  };
}
