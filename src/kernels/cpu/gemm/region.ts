import * as e from '../../../loop/language/build.js';
import { chooseBy } from '../../../loop/language/choices.js';
import type { Stmt } from '../../../loop/language/nodes.js';
import { overRange, type LoopRange } from '../../../loop/language/team.js';
import type { Contraction } from '../../contraction/spec.js';

/** Index along which a product is divided among threads. */
export type Divided = 'batch' | 'rows' | 'columns' | 'nothing';

/** Shares per thread, several for load balance. */
const manyShares = 8;

/**
 * The index to divide: the batch where there are many products, else the one of rows and columns with more
 * steps. The operand of the other one is then read, and packed, by every thread.
 */
export function dividedOf(
  {
    context: { isDivided },
    batch,
    m,
    n,
  }: Pick<Contraction, 'batch' | 'm' | 'n'> & {
    readonly context: Pick<Contraction['context'], 'isDivided'>;
  },
  rowStep: number,
  columnStep: number,
): Divided {
  if (!isDivided) return 'nothing';
  const steps = (size: number | null, step: number): number =>
    size === null ? manyShares : Math.ceil(size / step);
  return chooseBy([batch, m, n], (count, height, width) => {
    const [products, down, across] = [steps(count, 1), steps(height, rowStep), steps(width, columnStep)]; // prettier-ignore
    if (count !== null && products >= manyShares) return 'batch';
    if (products > Math.max(down, across)) return 'batch';
    return down >= across ? 'rows' : 'columns';
  });
}

/** The indices of one kind, in stretches of whole steps where it is the one that is divided. */
export function overKind(
  { batch, m, n }: Pick<Contraction, 'batch' | 'm' | 'n'>,
  divided: Divided,
  kind: Exclude<Divided, 'nothing'>,
  step: number,
  body: (range: LoopRange) => Stmt,
): Stmt {
  const end = { batch, rows: m, columns: n }[kind];
  return overRange(divided === kind, { begin: e.i32(0), end }, step, body);
}
