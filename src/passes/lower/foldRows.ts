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
import {
  type Blocks,
  blocksOf,
  declareTotals,
  joinSums,
  mostScalarSteps,
  mostStepsOfRows,
  nestInBlocks,
  sumsIn,
  type Totals,
} from './longSums.js';
import { type Loop, loopToShare, nest } from './nest.js';
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

/** Whether a stage folds into the state of the whole row rather than into lanes and copies. */
function isScalar({ lanes, copies }: Stage): boolean {
  return lanes * copies === 1;
}

/** Where the sums of a row go block by block: one set of totals for the lanes, one for the scalar. */
class RowTotals {
  readonly blocks: Blocks;
  readonly #fold: FoldStage;
  readonly #partial: readonly (readonly Var[])[];
  readonly #total: readonly Var[];
  readonly #lanes: Totals | null;
  readonly #scalar: Totals | null;

  constructor(
    fold: FoldStage,
    stages: readonly Stage[],
    partial: readonly (readonly Var[])[],
    total: readonly Var[],
  ) {
    this.#fold = fold;
    this.#partial = partial;
    this.#total = total;
    const sums = sumsIn(fold.parts);
    const isRepeated = fold.inner.length > 1;
    this.blocks =
      sums.length === 0
        ? { within: stages.map(() => null), around: null }
        : blocksOf(
            fold.inner,
            stages,
            stages.map((stage) =>
              // What is left of one row has always room in a block.
              isScalar(stage)
                ? isRepeated
                  ? mostScalarSteps
                  : Infinity
                : mostStepsOfRows(fold.lanes),
            ),
            stages.map((stage) => Number(isScalar(stage))),
          );
    const declare = (name: string, lanes: number, of: (stage: Stage) => boolean): Totals | null => {
      const isNeeded = stages.some(
        (stage, k) => of(stage) && (this.blocks.within[k] !== null || this.blocks.around !== null),
      );
      return isNeeded ? declareTotals(name, fold, sums, lanes) : null;
    };
    this.#lanes = declare('lanes', fold.lanes, (stage) => !isScalar(stage));
    this.#scalar = declare('scalar', 1, isScalar);
  }

  get declarations(): readonly Stmt[] {
    return [...(this.#lanes?.declarations ?? []), ...(this.#scalar?.declarations ?? [])];
  }

  /** Whether all but the first copy of the state of the lanes hold nothing in the end. */
  get areJoined(): boolean {
    return this.#lanes?.sums.length === this.#fold.initial.length;
  }

  /** Behind a block of a stage. */
  add(stage: Stage): Stmt {
    if (isScalar(stage)) return this.#scalar!.add(this.#total);
    return this.#addLanes(stage.copies);
  }

  /** Behind a block of rows. */
  addAll(): Stmt {
    return e.block(
      ...(this.#lanes === null ? [] : [this.#addLanes(this.#partial.length)]),
      ...(this.#scalar === null ? [] : [this.#scalar.add(this.#total)]),
    );
  }

  /** Where all that is left of the lanes is in the first copy. */
  complete(): readonly Stmt[] {
    return [
      ...(this.#lanes === null ? [] : [this.#lanes.complete(this.#partial[0])]),
      ...(this.#scalar === null ? [] : [this.#scalar.complete(this.#total)]),
    ];
  }

  #addLanes(copies: number): Stmt {
    const totals = this.#lanes!;
    return e.block(
      joinSums(this.#fold, totals.sums, this.#partial.slice(0, copies)),
      totals.add(this.#partial[0]),
    );
  }
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
