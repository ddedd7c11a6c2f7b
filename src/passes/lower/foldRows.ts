import * as e from '../../loop/build.js';
import type { Expr, Stmt, Var } from '../../loop/nodes.js';
import {
  combine,
  copiesInFlight,
  declareState,
  type Fold,
  type FoldStage,
  place,
  replace,
  step,
} from './fold.js';
import type { Team } from '../../loop/team.js';
import { nestInBlocks } from './longSums.js';
import { type Loop, loopToShare, nest } from './nest.js';
import { isScalar, RowTotals } from './rowTotals.js';
import { cut, type Stage, stageInBlocks, stageLoop } from './stages.js';

/**
 * Folds along the innermost axis: lanes and copies hold partial states, joined at the end of a row. Each
 * thread of a team, where `team` gives one, folds rows of its own.
 */
export function foldRows(fold: Fold, row: Loop, team: (() => Team) | null): Stmt {
  const body = (keptAt: readonly Expr[]): Stmt => {
    const { total, statements } = foldRow(fold, row, keptAt);
    return e.block(...statements, fold.storeResults(total, place(fold, keptAt, [])));
  };
  const shared = team === null ? null : loopToShare(fold.outer, team, () => 1);
  return nest(fold.outer, body, 'serial', shared);
}

/** What looks at one row once, and the locals that then hold the state of all of it. */
export function foldRow(
  fold: FoldStage,
  row: Loop,
  keptAt: readonly Expr[],
): { readonly total: readonly Var[]; readonly statements: readonly Stmt[] } {
  const stages = cut(row.extent, fold.lanes, copiesInFlight);
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
      );
    const steps = totals.blocks.within[k];
    if (steps === null) return stageLoop('i', stage, body);
    return stageInBlocks('i', stage, steps, body, () => totals.add(stage));
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
  stages: readonly Stage[],
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

function stepAll(
  fold: FoldStage,
  keptAt: readonly Expr[],
  foldedAt: readonly (readonly Expr[])[],
  states: readonly (readonly Var[])[],
): Stmt {
  return e.block(...foldedAt.map((at, copy) => step(fold, keptAt, at, states[copy])));
}

function joinCopies(fold: FoldStage, states: readonly (readonly Var[])[]): readonly Stmt[] {
  const statements: Stmt[] = [];
  if (fold.parts.length === 0) return statements;
  for (let distance = 1; distance < states.length; distance *= 2) {
    for (let copy = 0; copy + distance < states.length; copy += 2 * distance) {
      const joined = combine(fold, states[copy], states[copy + distance]);
      statements.push(replace(states[copy], joined));
    }
  }
  return statements;
}

function joinLanes(
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
  return [replace(total, combine(fold, parts[0], total))];
}
