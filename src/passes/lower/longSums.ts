import * as e from '../../loop/build.js';
import { fastTwoSum } from '../../loop/compensation.js';
import type { Expr, Stmt, Var } from '../../loop/nodes.js';
import { zero } from './access.js';
import { combine, type FoldStage, type Part } from './fold.js';
import { type Loop, nest } from './nest.js';
import { type Ends, loopInBlocks, type Stage, width } from './stages.js';

/*
 * Sums of any length that keep their digits (decision 45). Terms are added up in blocks; the sum of a block
 * goes to a total, together with what the addition before rounded away, and a fresh sum begins. No term of a sum is rounded
 * more than `mostRoundings` times, a division behind the sum included, so a sum is off by at most as many
 * roundings `u` of the sum of the magnitudes of its terms: 16 * 2^-24 < 1e-6 in float32.
 */
const mostRoundings = 16;

/**
 * What each term is rounded by besides its block: where that meets what was rounded away before, where it meets a
 * total that is smaller, where the total is read, and by a division.
 */
const roundingsBehind = 4;

/** The sums of so many blocks are added up one after the other, which rounds them no more than carrying does. */
export const mostPlainBlocks: number = roundingsBehind;

/** How many terms are added up pairwise before they are added to others, where there are many. */
export const termsTogether = 4;

/**
 * The most steps of a block of a row: its terms are added up by so many states of `lanes` which are joined
 * pairwise, and once more to a rest that scalars add up. Each step adds the sum of `together` terms.
 */
export function mostStepsOfRows(
  { lanes, together }: Pick<Stage, 'lanes' | 'together'>,
  states: number,
  hasRest: boolean,
): number {
  const joined = Math.log2(together) + Math.log2(states) + Math.log2(lanes) + Number(hasRest);
  return mostRoundings - roundingsBehind - joined + 1;
}

/** The most steps of a block of columns, each of which adds the sum of `termsTogether` terms. */
export const mostStepsOfColumns: number =
  mostRoundings - roundingsBehind - Math.log2(termsTogether) + 1;

/** The most terms of a block that one scalar adds up, which is joined to the vectors of its row. */
export const mostScalarSteps: number = mostRoundings - roundingsBehind - 1 + 1;

/**
 * Which components of the state of all parts are sums of floats. Whatever else is folded is exact in any
 * order, or, as a product is, no better in another one.
 */
export function sumsIn(parts: readonly Part[]): readonly number[] {
  return parts.flatMap(({ lowering, context, initial, offset }) => {
    const [a, b] = ['a', 'b'].map((name) =>
      initial.map(({ type }, k) => e.variable(`${name}${k}`, type.scalar)),
    );
    return lowering.combine(a, b, context).flatMap((joined, k) => {
      const { scalar } = initial[k].type;
      const isSum =
        (scalar === 'f32' || scalar === 'f64') &&
        joined.kind === 'binary' &&
        joined.op === 'add' &&
        joined.a === a[k] &&
        joined.b === b[k];
      return isSum ? [offset + k] : [];
    });
  });
}

/** An empty sum to which terms are added without a change: +0 would turn -0 into +0. */
export function emptySum({ type: { scalar } }: Expr, lanes: number): Expr {
  return e.constant(scalar, -0, lanes);
}

/** Where blocks of terms end. Both null: all terms make one block. */
export interface Blocks {
  /**
   * Those of each stage of the innermost loop; null for stages that are part of a block. The last of all is not added to
   * the totals, but with them.
   */
  readonly within: readonly (Ends | null)[];
  /** After so many trips of a loop around the innermost one. */
  readonly around: { readonly loop: Loop; readonly trips: number } | null;
  /** How often blocks are added to one total, at most. */
  readonly additions: number;
}

/** Whether totals carry what additions to them round away. */
export function isCarried({ additions }: Blocks): boolean {
  return additions >= mostPlainBlocks;
}

/** Where all terms make one block. */
export function oneBlock(stages: readonly Stage[]): Blocks {
  return { within: stages.map(() => null), around: null, additions: 0 };
}

/**
 * Ends blocks so that none has more steps than `most` for each stage. `stages` are those of the innermost of
 * the folded loops; those with equal `chains` add to the same sums.
 */
export function blocksOf(
  inner: readonly Loop[],
  stages: readonly Stage[],
  most: readonly number[],
  chains: readonly number[],
): Blocks {
  const within: (Ends | null)[] = stages.map(() => null);
  const left = new Map<number, number>();
  let additions = 0;
  // From the last: what the first stage does not share with the others is what it can have many of.
  for (let k = stages.length - 1; k >= 0; k--) {
    const [own, behind] = [mostStepsOf(stages, k), left.get(chains[k]) ?? 0];
    const isLong = own + behind > most[k];
    if (isLong) {
      const length = evenly(own + behind, most[k]);
      const inLast = own % length || length;
      const isFirst = stages.every(
        (_, other) => chains[other] !== chains[k] || within[other] === null,
      );
      const isLast = inner.length === 1 && isFirst && inLast + behind <= most[k];
      within[k] = { steps: length, isLast };
      const blocks = Math.ceil(own / length) - Number(isLast);
      additions = Math.max(additions, inner.length === 1 ? blocks : Infinity);
    }
    left.set(chains[k], isLong ? behind : own + behind);
  }
  // How much of a block one trip of a loop takes.
  let share = Math.max(0, ...stages.map((_, k) => (left.get(chains[k]) ?? 0) / most[k]));
  for (const loop of share === 0 ? [] : inner.slice(0, -1).reverse()) {
    const { extent } = loop;
    const trips = extent.kind === 'const' ? Number(extent.value) : Infinity;
    if (share * trips > 1) {
      const around = { loop, trips: Math.max(1, Math.floor(1 / share)) };
      return { within, around, additions: Infinity };
    }
    share *= trips;
  }
  return { within, around: null, additions };
}

/** The length of as few blocks of at most `most` steps as there can be, all about as long. */
function evenly(steps: number, most: number): number {
  return steps === Infinity ? most : Math.ceil(steps / Math.ceil(steps / most));
}

/** The most steps of a stage, of which all but the first only take what is left. */
export function mostStepsOf(stages: readonly Stage[], k: number): number {
  const { begin, end } = stages[k];
  if (begin.kind === 'const' && end.kind === 'const') {
    return Math.ceil((Number(end.value) - Number(begin.value)) / width(stages[k]));
  }
  return k === 0 ? Infinity : Math.ceil(width(stages[k - 1]) / width(stages[k])) - 1;
}

/** Totals of the sums of a state, and what was rounded away where blocks were added to them. */
export interface Totals {
  /** The components of the state, as in `sumsIn`. */
  readonly sums: readonly number[];
  readonly declarations: readonly Stmt[];
  /** Adds the sums of a state to the totals, and empties them. */
  add(state: readonly Var[]): Stmt;
  /** The whole sums of a state that holds the sums of the last block, in it. */
  complete(state: readonly Var[]): Stmt;
}

/** Totals in locals. */
export function declareTotals(
  name: string,
  { initial }: FoldStage,
  sums: readonly number[],
  lanes: number,
  blocks: Blocks,
): Totals {
  const local = (part: string, k: number): Var =>
    e.variable(`${name}_${part}_${k}`, initial[k].type.scalar, lanes);
  const totals = new Map(sums.map((k) => [k, local('high', k)]));
  if (!isCarried(blocks)) {
    const sum = (state: readonly Var[], k: number): Expr => e.add(totals.get(k)!, state[k]);
    return {
      sums,
      declarations: sums.map((k) => e.declare(totals.get(k)!, e.broadcast(initial[k], lanes))),
      add: (state) =>
        e.block(
          ...sums.flatMap((k) => [
            e.assign(totals.get(k)!, sum(state, k)),
            e.assign(state[k], emptySum(initial[k], lanes)),
          ]),
        ),
      complete: (state) => e.block(...sums.map((k) => e.assign(state[k], sum(state, k)))),
    };
  }
  const errors = new Map(sums.map((k) => [k, local('low', k)]));
  const each = (statements: (k: number, total: Var, error: Var) => readonly Stmt[]): Stmt =>
    e.block(...sums.flatMap((k) => statements(k, totals.get(k)!, errors.get(k)!)));
  return {
    sums,
    declarations: sums.flatMap((k) => [
      e.declare(totals.get(k)!, e.broadcast(initial[k], lanes)),
      e.declare(errors.get(k)!, emptySum(initial[k], lanes)),
    ]),
    add: (state) =>
      each((k, total, error) => {
        const [term, high] = [local('term', k), local('next', k)];
        const next = fastTwoSum(total, term);
        return [
          e.declare(term, e.add(state[k], error)),
          e.declare(high, next.sum),
          e.assign(error, next.error),
          e.assign(total, high),
          e.assign(state[k], emptySum(initial[k], lanes)),
        ];
      }),
    complete: (state) =>
      each((k, total, error) => [e.assign(state[k], e.add(total, e.add(state[k], error)))]),
  };
}

/** Joins the sums of several states in the first of them, pairwise, and empties the others. */
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

/** Nested loops around a body that receives their variables, with statements behind every block. */
export function nestInBlocks(
  loops: readonly Loop[],
  { around }: Blocks,
  body: (at: readonly Expr[]) => Stmt,
  behind: () => Stmt,
): Stmt {
  const blocked = around === null ? -1 : loops.indexOf(around.loop);
  if (around === null || blocked < 0) return nest(loops, body);
  const { axes, extent } = around.loop;
  const range = { begin: zero, end: extent, step: 1 };
  return nest(loops.slice(0, blocked), (outer) =>
    loopInBlocks(
      `i${axes.join('')}`,
      range,
      { steps: around.trips, isLast: false },
      (index) => nest(loops.slice(blocked + 1), (rest) => body([...outer, index, ...rest])),
      behind,
    ),
  );
}
