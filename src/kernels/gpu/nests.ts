import * as e from '../../loop/language/build.js';
import type { Expr, Stmt } from '../../loop/language/nodes.js';
import {
  bytesOfState,
  declareState,
  type Fold,
  type FoldStage,
  place,
  step,
} from '../../ops/nests/fold.js';
import { gridNest, type NestLoop, nest } from '../../ops/nests/nest.js';
import type { NestSchedule } from '../../ops/nests/schedule.js';
import { foldRow } from '../folds/fold-row.js';
import { foldInWorkgroups } from './folds/fold-workgroups.js';
import { gridLanes } from '../../loop/language/team.js';
import { overPoints } from './points.js';
import { groupShape, type GroupShape, shapeOfVectors } from './folds/group-shape.js';

/** Loops of devices whose threads are many: a thread for each result, or a workgroup for a few of them. */
export const gpuNests: NestSchedule = {
  points: ({ loops }, body, isDivided) => (isDivided ? overPoints(loops, body) : nest(loops, body)),
  folds(fold, isDivided) {
    const extents = {
      folded: fold.inner.map(({ extent }) => extent),
      kept: fold.outer.map(({ extent }) => extent),
      isRow: fold.loops.at(-1)?.isIndependent === false,
    };
    const bytes = bytesOfState(fold.initial);
    const canWiden = !extents.isRow && fold.lanes === gridLanes;
    const wide = isDivided && canWiden ? shapeOfVectors(extents, bytes) : null;
    const shape = wide ?? (isDivided ? groupShape(extents, bytes) : null);
    if (shape === null) return foldOnGrid(fold, isDivided);
    return foldResults(extents.isRow ? { ...fold, lanes: fold.foldedLanes } : fold, shape);
  },
  rows(extents, stateBytes, isDivided) {
    const shape = isDivided ? groupShape(extents, stateBytes()) : null;
    return {
      invocations: shape?.partials ?? 1,
      together: shape?.together ?? 1,
      over(frame, row) {
        if (shape !== null) return foldInWorkgroups(frame, shape, row, true);
        const last = frame.inner[frame.inner.length - 1];
        const body = (keptAt: readonly Expr[]): Stmt =>
          row({
            keptAt,
            isFirst: null,
            fold: (stage) => foldRow(inShaderLanes(stage), last, keptAt),
          });
        return over(frame.outer, body, isDivided);
      },
    };
  },
};

/** A pass by vectors of shaders, or without vectors. */
function inShaderLanes(stage: FoldStage): FoldStage {
  return stage.lanes === gridLanes ? stage : { ...stage, lanes: 1 };
}

/** A thread for each iteration, or loops. */
function over(
  loops: readonly NestLoop[],
  body: (at: readonly Expr[]) => Stmt,
  isDivided: boolean,
): Stmt {
  return isDivided ? gridNest(loops, body) : nest(loops, body);
}

/** Folds with several invocations for each result. */
function foldResults(fold: Fold, shape: GroupShape): Stmt {
  return foldInWorkgroups(fold, shape, (work) => {
    const { total, statements } = work.fold(fold);
    const results = fold.storeResults(total, place(fold, work.keptAt, []));
    return e.block(...statements, e.ifThen(work.isFirst, results));
  });
}

/** Folds with a thread for each result; neighboring threads read neighboring elements where results are neighbors. */
function foldOnGrid(fold: Fold, isDivided: boolean): Stmt {
  const row = fold.inner.at(-1);
  const body = (keptAt: readonly Expr[]): Stmt => {
    const index = place(fold, keptAt, []);
    if (row === undefined) {
      const { state, declarations } = declareState('state', fold.initial, 1);
      return e.block(
        ...declarations,
        step(fold, keptAt, [], state),
        fold.storeResults(state, index),
      );
    }
    const { total, statements } = foldRow(inShaderLanes(fold), row, keptAt);
    return e.block(...statements, fold.storeResults(total, index));
  };
  return over(fold.outer, body, isDivided);
}
