import * as e from '../../loop/build.js';
import type { Buffer, Expr, Stmt } from '../../loop/nodes.js';
import { addIndex, mulIndex, one } from './access.js';
import { copiesInFlight, declareState, type Fold, place, step } from './fold.js';
import type { Team } from '../../loop/team.js';
import {
  elementsTogether,
  type Loop,
  loopToShare,
  nest,
  rangeOf,
  type SharedLoop,
} from './nest.js';
import { cut, stageLoop } from './stages.js';

/** Folds of at most this many elements keep their states in registers. */
const shortFold = 8;
/** How many results are folded together: their states stay in the first-level cache. */
const columnsTogether = 1024;

/**
 * Folds over outer axes: neighbouring results side by side, `column` is the loop over them. Each thread of a
 * team, where `team` gives one, has columns of its own, as many together as are folded together.
 */
export function foldColumns(fold: Fold, column: Loop | undefined, team: (() => Team) | null): Stmt {
  if (column === undefined) return columnsAt(fold, [[]], 1);
  const stepOf = (loop: Loop): number => (loop === column ? elementsTogether : 1);
  const shared = team === null ? null : loopToShare(fold.outer, team, stepOf);
  const count = fold.inner.reduce((product, { extent }) => mulIndex(product, extent), one);
  const isShort = count.kind === 'const' && Number(count.value) <= shortFold;
  const body = (outerAt: readonly Expr[]): Stmt =>
    isShort
      ? columnsInRegisters(fold, column, outerAt, shared)
      : columnsInMemory(fold, column, outerAt, shared);
  return nest(fold.outer.slice(0, -1), body, 'serial', shared);
}

function columnsInRegisters(
  fold: Fold,
  column: Loop,
  outerAt: readonly Expr[],
  shared: SharedLoop | null,
): Stmt {
  const { begin, end } = rangeOf(column, shared);
  const isWhole = end === column.extent;
  return e.block(
    ...cut(isWhole ? end : e.sub(end, begin), fold.lanes, copiesInFlight).map((stage) =>
      stageLoop('j', stage, (indices) =>
        columnsAt(
          fold,
          indices.map((index) => [...outerAt, addIndex(begin, index)]),
          stage.lanes,
        ),
      ),
    ),
  );
}

/** The results at a few indices at once. */
function columnsAt(fold: Fold, keptAt: readonly (readonly Expr[])[], lanes: number): Stmt {
  const states = keptAt.map((_, copy) => declareState(`state${copy}`, fold.initial, lanes));
  return e.block(
    ...states.flatMap(({ declarations }) => declarations),
    nest(fold.inner, (foldedAt) =>
      e.block(...keptAt.map((at, copy) => step(fold, at, foldedAt, states[copy].state))),
    ),
    ...keptAt.map((at, copy) => fold.storeResults(states[copy].state, place(fold, at, []))),
  );
}

/**
 * States in memory, so that the input is read in its own order, row by row, instead of once for every
 * few columns; several rows are folded in between to save loads and stores of states.
 */
function columnsInMemory(
  fold: Fold,
  column: Loop,
  outerAt: readonly Expr[],
  shared: SharedLoop | null,
): Stmt {
  const { extent } = column;
  const range = rangeOf(column, shared);
  const most =
    extent.kind === 'const' ? Math.min(Number(extent.value), columnsTogether) : columnsTogether;
  const memory = fold.initial.map(({ type }, k) =>
    fold.scratch(`state${k}`, type.scalar, e.i32(most)),
  );
  return e.forLoop(
    'block',
    range.begin,
    range.end,
    (begin) => {
      const width = widthFrom(begin, range.end, most);
      const eachColumn = (body: (at: Expr, lanes: number) => Stmt): Stmt =>
        e.block(
          ...cut(width, fold.lanes, 1).map((stage) =>
            stageLoop('j', stage, ([at]) => body(at, stage.lanes)),
          ),
        );
      const load = (at: Expr): Expr[] =>
        memory.map((buffer, k) => loadState(buffer, at, fold.initial[k]));
      const save = (at: Expr, state: readonly Expr[]): Stmt =>
        e.block(...state.map((part, k) => saveState(memory[k], at, part)));
      const keptAt = (at: Expr): readonly Expr[] => [...outerAt, addIndex(begin, at)];
      const foldRowsOf = (foldedAt: readonly (readonly Expr[])[]): Stmt =>
        eachColumn((at, lanes) => {
          const { state, declarations } = declareState('state', load(at), lanes);
          return e.block(
            ...declarations,
            ...foldedAt.map((folded) => step(fold, keptAt(at), folded, state)),
            save(at, state),
          );
        });
      const rows = fold.inner[fold.inner.length - 1];
      return e.block(
        eachColumn((at, lanes) =>
          save(
            at,
            fold.initial.map((part) => e.broadcast(part, lanes)),
          ),
        ),
        nest(fold.inner.slice(0, -1), (foldedAt) =>
          e.block(
            ...cut(rows.extent, 1, copiesInFlight).map((stage) =>
              stageLoop('i', stage, (indices) =>
                foldRowsOf(indices.map((index) => [...foldedAt, index])),
              ),
            ),
          ),
        ),
        eachColumn((at) => fold.storeResults(load(at), place(fold, keptAt(at), []))),
      );
    },
    { step: most },
  );
}

function widthFrom(begin: Expr, extent: Expr, most: number): Expr {
  if (extent.kind === 'const' && Number(extent.value) % most === 0) return e.i32(most);
  return e.min(e.sub(extent, begin), most);
}

function loadState(from: Buffer, at: Expr, like: Expr): Expr {
  const raw = e.load(from, at);
  return like.type.scalar === 'bool' ? e.cast('bool', raw) : raw;
}

function saveState(to: Buffer, at: Expr, part: Expr): Stmt {
  return e.store(to, at, part.type.scalar === 'bool' ? e.cast('i32', part) : part);
}
