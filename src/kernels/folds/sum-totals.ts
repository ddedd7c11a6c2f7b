import * as e from '../../loop/language/build.js';
import { fastTwoSum } from '../../loop/language/compensation.js';
import type { Expr, Stmt, Var } from '../../loop/language/nodes.js';
import { combine, type FoldStage } from '../../ops/nests/fold.js';
import { emptySum } from './long-sums.js';
import { type BlockBoundaries, isCompensated } from './sum-blocks.js';

/** Totals of the sums of a state, to which blocks are added. */
export interface Totals {
  /** The components of the state, as in `sumsIn`. */
  readonly sums: readonly number[];
  readonly declarations: readonly Stmt[];
  /** Adds the sums of a state to the totals, and resets them. */
  add(state: readonly Var[]): Stmt;
  /** Completes the sums of a state, which holds those of the last block, in place. */
  complete(state: readonly Var[]): Stmt;
}

/** The total of one sum. */
interface Total {
  readonly declarations: readonly Stmt[];
  add(sum: Var): readonly Stmt[];
  withLast(sum: Var): Expr;
}

/** Totals in locals. */
export function declareTotals(
  name: string,
  { initial }: FoldStage,
  sums: readonly number[],
  lanes: number,
  blocks: BlockBoundaries,
): Totals {
  const declareTotal = isCompensated(blocks) ? carriedTotal : plainTotal;
  const totals = sums.map((k) => [k, declareTotal(name, k, initial[k], lanes)] as const);
  return {
    sums,
    declarations: totals.flatMap(([, total]) => total.declarations),
    add: (state) =>
      e.block(
        ...totals.flatMap(([k, total]) => [
          ...total.add(state[k]),
          e.assign(state[k], emptySum(initial[k], lanes)),
        ]),
      ),
    complete: (state) =>
      e.block(...totals.map(([k, total]) => e.assign(state[k], total.withLast(state[k])))),
  };
}

function plainTotal(name: string, k: number, initial: Expr, lanes: number): Total {
  const total = e.variable(`${name}_total_${k}`, initial.type.scalar, lanes);
  return {
    declarations: [e.declare(total, e.broadcast(initial, lanes))],
    add: (sum) => [e.assign(total, e.add(total, sum))],
    withLast: (sum) => e.add(total, sum),
  };
}

/** A compensated total: the rounding error of an addition is added with the next block. */
function carriedTotal(name: string, k: number, initial: Expr, lanes: number): Total {
  const [total, error, term, next] = ['total', 'error', 'term', 'next'].map((part) =>
    e.variable(`${name}_${part}_${k}`, initial.type.scalar, lanes),
  );
  const added = fastTwoSum(total, term);
  return {
    declarations: [
      e.declare(total, e.broadcast(initial, lanes)),
      e.declare(error, emptySum(initial, lanes)),
    ],
    add: (sum) => [
      e.declare(term, e.add(sum, error)),
      e.declare(next, added.sum),
      e.assign(error, added.error),
      e.assign(total, next),
    ],
    withLast: (sum) => e.add(total, e.add(sum, error)),
  };
}

/** Adds the sums of several states pairwise into the first of them, and resets the others. */
export function joinSums(
  fold: FoldStage,
  sums: readonly number[],
  states: readonly (readonly Var[])[],
): Stmt {
  const statements: Stmt[] = [];
  for (let distance = 1; distance < states.length; distance *= 2) {
    for (let copy = 0; copy + distance < states.length; copy += 2 * distance) {
      const [to, from] = [states[copy], states[copy + distance]];
      const joined = combine(fold, to, from);
      statements.push(...sums.map((k) => e.assign(to[k], joined[k])));
    }
  }
  const emptied = states
    .slice(1)
    .flatMap((state) =>
      sums.map((k) => e.assign(state[k], emptySum(fold.initial[k], state[k].type.lanes))),
    );
  return e.block(...statements, ...emptied);
}
