import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { addIndex, mulIndex, one } from '../../../ops/nests/access.js';
import { ColumnMemory } from './column-memory.js';
import { copiesInFlight, declareState, type Fold, place, step } from '../../../ops/nests/fold.js';
import { foldTogether } from '../../folds/fold-together.js';
import { termsTogether } from '../../folds/long-sums.js';
import { nestInBlocks } from '../../folds/sum-blocks.js';
import type { LoopRange } from '../../../loop/language/team.js';
import {
  elementsTogether,
  type NestLoop,
  loopToShare,
  nest,
  overLoop,
} from '../../../ops/nests/nest.js';
import { cut, stageInBlocks, stageLoop } from '../../folds/stages.js';

/** Length up to which folds keep their states in registers. */
const shortFold = 8;
/** Results that are folded together: their states stay in the first-level cache. */
const columnsTogether = 1024;

/** Folds over outer axes: neighboring results side by side, `column` is the loop over them. */
export function foldColumns(fold: Fold, column: NestLoop | undefined, isDivided: boolean): Stmt {
  if (column === undefined) return columnsAt(fold, [[]], 1);
  const stepOf = (loop: NestLoop): number => (loop === column ? elementsTogether : 1);
  const shared = isDivided ? loopToShare(fold.outer, stepOf) : null;
  const count = fold.inner.reduce((product, { extent }) => mulIndex(product, extent), one);
  const isShort = count.kind === 'const' && Number(count.value) <= shortFold;
  const fill = isShort ? columnsInRegisters : columnsInMemory;
  const body = (outerAt: readonly Expr[]): Stmt =>
    overLoop(column, shared, (range) => fill(fold, column, range, outerAt));
  return nest(fold.outer.slice(0, -1), body, 'serial', shared);
}

function columnsInRegisters(
  fold: Fold,
  column: NestLoop,
  { begin, end }: LoopRange,
  outerAt: readonly Expr[],
): Stmt {
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

/** The results at several indices at once. */
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
 * States in memory, so that the input is read in its own order, row by row, instead of once for every few
 * columns; several rows are folded together to save loads and stores of states.
 */
function columnsInMemory(
  fold: Fold,
  column: NestLoop,
  range: LoopRange,
  outerAt: readonly Expr[],
): Stmt {
  const { extent } = column;
  const isOneBlock = extent.kind === 'const' && Number(extent.value) <= columnsTogether;
  const most = isOneBlock ? Number(extent.value) : columnsTogether;
  const memory = new ColumnMemory(fold, most);
  const rows = fold.inner[fold.inner.length - 1];
  const stages = cut(rows.extent, 1, 1, termsTogether);
  const blocks = memory.blocksOf(stages);
  const blockAt = (begin: Expr, width: Expr): Stmt => {
    const eachColumn = (body: (at: Expr, lanes: number) => Stmt): Stmt =>
      e.block(
        ...cut(width, fold.lanes, 1).map((stage) =>
          stageLoop('j', stage, ([at]) => body(at, stage.lanes)),
        ),
      );
    const keptAt = (at: Expr): readonly Expr[] => [...outerAt, addIndex(begin, at)];
    const foldRowsOf = (foldedAt: readonly (readonly Expr[])[]): Stmt =>
      eachColumn((at, lanes) => foldColumn(fold, memory, keptAt(at), foldedAt, at, lanes));
    const addToTotals = (): Stmt => eachColumn((at, lanes) => memory.addToTotals(at, lanes));
    return e.block(
      eachColumn((at, lanes) => memory.begin(at, lanes)),
      nestInBlocks(
        fold.inner.slice(0, -1),
        blocks,
        (foldedAt) =>
          e.block(
            ...stages.map((stage, k) => {
              const body = (indices: readonly Expr[]): Stmt =>
                foldRowsOf(indices.map((index) => [...foldedAt, index]));
              const ends = blocks.within[k];
              if (ends === null) return stageLoop('i', stage, body);
              return stageInBlocks('i', stage, ends, body, addToTotals);
            }),
          ),
        addToTotals,
      ),
      eachColumn((at) => fold.storeResults(memory.whole(at), place(fold, keptAt(at), []))),
    );
  };
  const { begin, end } = range;
  // A loop of one block would differ from size to size by its step alone (`loop/optimize/lift.ts`).
  if (isOneBlock) return blockAt(begin, end === extent ? end : e.sub(end, begin));
  return e.forLoop('block', begin, end, (at) => blockAt(at, widthFrom(at, end, most)), {
    step: most,
  });
}

/** Folds a few elements of one column, or of as many as there are lanes. */
function foldColumn(
  fold: Fold,
  memory: ColumnMemory,
  keptAt: readonly Expr[],
  foldedAt: readonly (readonly Expr[])[],
  at: Expr,
  lanes: number,
): Stmt {
  const before = memory.load(at).map((part) => e.broadcast(part, lanes));
  const sums = new Set(foldedAt.length > 1 ? memory.sums : []);
  const { statements, state } = foldTogether(fold, keptAt, foldedAt, before, sums);
  return e.block(...statements, memory.save(at, state));
}

function widthFrom(begin: Expr, extent: Expr, most: number): Expr {
  if (extent.kind === 'const' && Number(extent.value) % most === 0) return e.i32(most);
  return e.min(e.sub(extent, begin), most);
}
