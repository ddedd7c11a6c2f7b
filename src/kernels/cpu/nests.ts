import * as e from '../../loop/language/build.js';
import type { Expr, Stmt } from '../../loop/language/nodes.js';
import { type Fold, place } from '../../ops/nests/fold.js';
import { elementsTogether, loopToShare, type NestLoop, nest } from '../../ops/nests/nest.js';
import type { NestSchedule } from '../../ops/nests/schedule.js';
import { foldRow } from '../folds/fold-row.js';
import { foldColumns } from './folds/fold-columns.js';
import { loopsToTile, tileExtent, tiledNest } from './points/tile.js';

/** Loops of processors with vector registers: lanes along the innermost axis, threads along an outer one. */
export const cpuNests: NestSchedule = {
  points(plan, body, isDivided) {
    const { loops } = plan;
    const tiled = loopsToTile(plan);
    const last = loops[loops.length - 1];
    const stepOf = (loop: NestLoop): number => {
      if (tiled?.includes(loop) === true) return tileExtent;
      return loop === last ? elementsTogether : 1;
    };
    const shared = isDivided ? loopToShare(loops, stepOf) : null;
    return tiled === null
      ? nest(loops, body, 'vector', shared)
      : tiledNest(loops, tiled, body, shared);
  },
  // Lanes and copies hold partial states where the innermost axis is folded, otherwise neighboring results.
  folds(fold, isDivided) {
    const last = fold.loops[fold.loops.length - 1];
    return last?.isIndependent === false
      ? foldRows(fold, last, isDivided)
      : foldColumns(fold, last, isDivided);
  },
  rows: (_extents, _stateBytes, isDivided) => ({
    invocations: 1,
    together: 1,
    over(frame, row) {
      const last = frame.inner[frame.inner.length - 1];
      const shared = isDivided ? loopToShare(frame.outer, () => 1) : null;
      const body = (keptAt: readonly Expr[]): Stmt =>
        row({ keptAt, isFirst: null, fold: (stage) => foldRow(stage, last, keptAt) });
      return nest(frame.outer, body, 'serial', shared);
    },
  }),
};

/** Folds along the innermost axis: lanes and copies hold partial states, joined at the end of a row. */
function foldRows(fold: Fold, row: NestLoop, isDivided: boolean): Stmt {
  const body = (keptAt: readonly Expr[]): Stmt => {
    const { total, statements } = foldRow(fold, row, keptAt);
    return e.block(...statements, fold.storeResults(total, place(fold, keptAt, [])));
  };
  const shared = isDivided ? loopToShare(fold.outer, () => 1) : null;
  return nest(fold.outer, body, 'serial', shared);
}
