import * as e from '../../loop/build.js';
import type { Expr, Stmt } from '../../loop/nodes.js';
import { addIndex } from './access.js';

/** A stretch of iterations that is run `copies` vectors of `lanes` at a time. */
export interface Stage {
  readonly lanes: number;
  readonly copies: number;
  readonly begin: Expr;
  readonly end: Expr;
}

/**
 * Cuts the iterations 0 to `extent` into a part that keeps `copies` vectors in flight, a part of single
 * vectors, and a scalar tail. Parts that are certainly empty are left out.
 */
export function cut(extent: Expr, lanes: number, copies: number): readonly Stage[] {
  const shapes = [
    { lanes, copies },
    { lanes, copies: 1 },
    { lanes: 1, copies: 1 },
  ].filter((shape, i, all) => i === 0 || width(shape) < width(all[i - 1]));
  const stages: Stage[] = [];
  let begin: Expr = e.i32(0);
  for (const shape of shapes) {
    const end = wholeMultiple(extent, width(shape));
    if (isEmpty(begin, end)) continue;
    stages.push({ ...shape, begin, end });
    begin = end;
  }
  return stages;
}

/** The greatest multiple of a power of two that is not above the extent. */
function wholeMultiple(extent: Expr, of: number): Expr {
  if (of === 1) return extent;
  if (extent.kind === 'const') return e.i32(Number(extent.value) - (Number(extent.value) % of));
  return e.and(extent, -of);
}

function isEmpty(begin: Expr, end: Expr): boolean {
  return begin.kind === 'const' && end.kind === 'const' && begin.value === end.value;
}

function width({ lanes, copies }: Pick<Stage, 'lanes' | 'copies'>): number {
  return lanes * copies;
}

/** The loop over a stage; `body` gets the index, a ramp when there are lanes, of each copy. */
export function stageLoop(
  name: string,
  stage: Stage,
  body: (indices: readonly Expr[]) => Stmt,
): Stmt {
  const step = width(stage);
  return e.forLoop(name, stage.begin, stage.end, (index) => body(indicesAt(stage, index)), {
    step,
  });
}

/** The same loop in blocks of so many steps, each with statements behind it. */
export function stageInBlocks(
  name: string,
  stage: Stage,
  steps: number,
  body: (indices: readonly Expr[]) => Stmt,
  behind: () => Stmt,
): Stmt {
  const range = { begin: stage.begin, end: stage.end, step: width(stage) };
  return loopInBlocks(name, range, steps, (index) => body(indicesAt(stage, index)), behind);
}

function indicesAt(stage: Stage, index: Expr): readonly Expr[] {
  return Array.from({ length: stage.copies }, (_, copy) => {
    const at = addIndex(index, e.i32(copy * stage.lanes));
    return stage.lanes === 1 ? at : e.ramp(at, 1, stage.lanes);
  });
}

/** A loop from `begin` to `end` in blocks of so many steps, each with statements behind it. */
export function loopInBlocks(
  name: string,
  { begin, end, step }: { readonly begin: Expr; readonly end: Expr; readonly step: number },
  steps: number,
  body: (index: Expr) => Stmt,
  behind: () => Stmt,
): Stmt {
  if (steps === 1) {
    return e.forLoop(name, begin, end, (index) => e.block(body(index), behind()), { step });
  }
  const length = steps * step;
  const isWhole =
    begin.kind === 'const' &&
    end.kind === 'const' &&
    (Number(end.value) - Number(begin.value)) % length === 0;
  return e.forLoop(
    `${name}_block`,
    begin,
    end,
    (first) => {
      const last = e.add(first, length);
      const until = isWhole ? last : e.min(last, end);
      return e.block(e.forLoop(name, first, until, body, { step }), behind());
    },
    { step: length },
  );
}
