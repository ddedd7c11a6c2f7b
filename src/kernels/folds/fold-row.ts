import type { FoldedState } from '../../ops/nests/schedule.js';
import * as e from '../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../loop/language/nodes.js';
import { workOf } from '../../ops/nests/cost.js';
import {
  combine,
  copiesInFlight,
  declareState,
  type FoldStage,
  place,
  assignState,
  step,
} from '../../ops/nests/fold.js';
import { foldTogether } from './fold-together.js';
import { mostPlainBlocks, mostStepsOfRows, sumsIn, termsTogether } from './long-sums.js';
import { mostStepsOf, nestInBlocks } from './sum-blocks.js';
import type { NestLoop } from '../../ops/nests/nest.js';
import { isScalar, RowTotals } from './row-totals.js';
import { cut, type LoopStage, stageInBlocks, stageLoop } from './stages.js';

/** One pass over a row, and the locals that then hold its complete state. */
export function foldRow(fold: FoldStage, row: NestLoop, keptAt: readonly Expr[]): FoldedState {
  const { copies, together } = shapeOfSteps(fold, row, keptAt);
  const stages = cut(row.extent, fold.lanes, copies, together);
  const total = declareState('total', fold.initial, 1);
  const partial = partialStates(fold, stages);
  const totals = new RowTotals(fold, stages, partial.states, total.state);
  const stepsOf = (k: number, foldedAt: readonly Expr[]): Stmt => {
    const stage = stages[k];
    const states = isScalar(stage) ? [total.state] : partial.states;
    const body = (indices: readonly Expr[]): Stmt =>
      stepAll(
        fold,
        keptAt,
        indices.map((index) => [...foldedAt, index]),
        states,
        stage.together,
      );
    const blocks = totals.blocks.within[k];
    if (blocks === null) return stageLoop('i', stage, body);
    return stageInBlocks('i', stage, blocks, body, () => totals.add(stage));
  };
  return {
    total: total.state,
    statements: [
      ...total.declarations,
      ...partial.declarations,
      ...totals.declarations,
      nestInBlocks(
        fold.inner.slice(0, -1),
        totals.blocks,
        (foldedAt) => e.block(...stages.map((_, k) => stepsOf(k, foldedAt))),
        () => totals.addAll(),
      ),
      ...(totals.areJoined ? [] : joinCopies(fold, partial.states)),
      ...totals.complete(),
      ...joinLanes(fold, partial.states[0], total.state),
    ],
  };
}

function partialStates(
  fold: FoldStage,
  stages: readonly LoopStage[],
): { readonly states: readonly (readonly Var[])[]; readonly declarations: readonly Stmt[] } {
  const wide = stages.filter((stage) => stage.lanes * stage.copies > 1);
  const copies = Math.max(0, ...wide.map((stage) => stage.copies));
  const states = Array.from({ length: copies }, (_, copy) =>
    declareState(`partial${copy}`, fold.initial, fold.lanes),
  );
  return {
    states: states.map(({ state }) => state),
    declarations: states.flatMap(({ declarations }) => declarations),
  };
}

/** Limit of work per element for folding several elements together. */
const cheapWork = 12;
/**
 * Limit of vector bytes for folding several together: instructions that add wider ones read them from memory
 * themselves.
 */
const narrowVector = 16;

/**
 * Elements folded in one step of a row: for long sums of cheap terms, pairs are added first, which halves the
 * blocks and the states.
 */
function shapeOfSteps(
  fold: FoldStage,
  row: NestLoop,
  keptAt: readonly Expr[],
): Pick<LoopStage, 'copies' | 'together'> {
  const single = { copies: copiesInFlight, together: 1 };
  const { lanes, initial } = fold;
  const areSums = initial.length > 0 && sumsIn(fold.parts).length === initial.length;
  if (!areSums || lanes * e.scalarBytes(initial[0].type.scalar) > narrowVector) return single;
  const [first] = cut(row.extent, lanes, copiesInFlight);
  const most = mostPlainBlocks * mostStepsOfRows({ lanes, together: 1 }, copiesInFlight, true);
  if (first === undefined || mostStepsOf([first], 0) <= most) return single;
  const foldedAt = fold.inner.map((_, k) => e.variable(`i${k}`, 'i32'));
  const index = place(fold, keptAt, foldedAt);
  const elements = [
    ...fold.parts.map(({ element }) => element.at(index)),
    ...fold.beside.map(({ at }) => at(index)),
  ];
  if (workOf(elements) > cheapWork) return single;
  return { copies: copiesInFlight / 2, together: termsTogether };
}

/** One step of each state, each of which takes `together` elements. */
function stepAll(
  fold: FoldStage,
  keptAt: readonly Expr[],
  foldedAt: readonly (readonly Expr[])[],
  states: readonly (readonly Var[])[],
  together: number,
): Stmt {
  if (together === 1) {
    return e.block(...foldedAt.map((at, copy) => step(fold, keptAt, at, states[copy])));
  }
  const sums = new Set(sumsIn(fold.parts));
  return e.block(
    ...states.map((state, copy) => {
      const own = foldedAt.slice(copy * together, (copy + 1) * together);
      const next = foldTogether(fold, keptAt, own, state, sums);
      return e.block(...next.statements, assignState(state, next.state));
    }),
  );
}

function joinCopies(fold: FoldStage, states: readonly (readonly Var[])[]): readonly Stmt[] {
  const statements: Stmt[] = [];
  if (fold.parts.length === 0) return statements;
  for (let distance = 1; distance < states.length; distance *= 2) {
    for (let copy = 0; copy + distance < states.length; copy += 2 * distance) {
      const joined = combine(fold, states[copy], states[copy + distance]);
      statements.push(assignState(states[copy], joined));
    }
  }
  return statements;
}

/** Joins the lanes of a state pairwise, and what they make with a total. */
export function joinLanes(
  fold: FoldStage,
  state: readonly Var[] | undefined,
  total: readonly Var[],
): readonly Stmt[] {
  if (state === undefined || fold.parts.length === 0) return [];
  let parts: (readonly Expr[])[] = Array.from({ length: fold.lanes }, (_, lane) =>
    state.map((part) => e.extract(part, lane)),
  );
  while (parts.length > 1) {
    const half = parts.length / 2;
    const upper = parts.slice(half);
    parts = upper.map((part, i) => combine(fold, parts[i], part));
  }
  return [assignState(total, combine(fold, parts[0], total))];
}
