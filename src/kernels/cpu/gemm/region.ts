import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import { isAlone, shareOf } from '../../../loop/language/team.js';
import { known } from './sizes.js';
import type { Contraction } from './spec.js';

/** Outer indices `begin <= i < end`. */
export interface OuterRange {
  readonly begin: Expr;
  readonly end: Expr;
}

/** Along which index a product is divided among threads. */
export type Divided = 'batch' | 'rows' | 'columns' | 'nothing';

/** More shares than threads, so that each gets about as many. */
const manyShares = 8;

/**
 * The index to divide: the batch where there are many products, else whichever of rows and columns has
 * more steps. The operand of the other one is then read, and packed, by every thread.
 */
export function dividedOf(
  { context: { team }, batch, m, n }: Contraction,
  rowStep: number,
  columnStep: number,
): Divided {
  if (isAlone(team)) return 'nothing';
  const steps = (extent: Expr, step: number): number => {
    const size = known(extent);
    return size === null ? manyShares : Math.ceil(size / step);
  };
  const [products, down, across] = [steps(batch, 1), steps(m, rowStep), steps(n, columnStep)];
  if (known(batch) !== null && products >= manyShares) return 'batch';
  if (products > Math.max(down, across)) return 'batch';
  return down >= across ? 'rows' : 'columns';
}

/** What falls to this thread of the indices of one kind, in whole steps. */
export function threadRange(
  { context: { team }, batch, m, n }: Contraction,
  divided: Divided,
  kind: Exclude<Divided, 'nothing'>,
  step: number,
): OuterRange {
  const extent = { batch, rows: m, columns: n }[kind];
  const all = { begin: e.i32(0), end: extent };
  return divided === kind ? shareOf(team, all.begin, all.end, step) : all;
}
