import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { addIndex } from '../nests/access.js';

/** A stretch of iterations that is run `copies` times `together` vectors of `lanes` at a time. */
export interface LoopStage {
  readonly lanes: number;
  /** How many do not wait for each other. */
  readonly copies: number;
  /** How many neighboring vectors each of them takes in one step. */
  readonly together: number;
  readonly begin: Expr;
  readonly end: Expr;
}

/**
 * Cuts the iterations 0 to `extent` into a part that takes several vectors together, a part that keeps `copies`
 * vectors in flight, a part of single vectors, and a scalar tail. Parts that are certainly empty are left out.
 */
export function cut(
  extent: Expr,
  lanes: number,
  copies: number,
  together: number = 1,
): readonly LoopStage[] {
  const shapes = [
    { lanes, copies, together },
    { lanes, copies, together: 1 },
    { lanes, copies: 1, together: 1 },
    { lanes: 1, copies: 1, together: 1 },
  ].filter((shape, i, all) => i === 0 || width(shape) < width(all[i - 1]));
  const stages: LoopStage[] = [];
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

/** How many iterations one step of a stage is. */
export function width({ lanes, copies, together }: Omit<LoopStage, 'begin' | 'end'>): number {
  return lanes * copies * together;
}

/** The loop over a stage; `body` gets the index, a ramp when there are lanes, of each vector. */
export function stageLoop(
  name: string,
  stage: LoopStage,
  body: (indices: readonly Expr[]) => Stmt,
): Stmt {
  const step = width(stage);
  return e.forLoop(name, stage.begin, stage.end, (index) => body(indicesAt(stage, index)), {
    step,
  });
}

/** The same loop in blocks, with statements behind each. */
export function stageInBlocks(
  name: string,
  stage: LoopStage,
  blocks: BlockEnds,
  body: (indices: readonly Expr[]) => Stmt,
  behind: () => Stmt,
): Stmt {
  const range = { begin: stage.begin, end: stage.end, step: width(stage) };
  return loopInBlocks(name, range, blocks, (index) => body(indicesAt(stage, index)), behind);
}

function indicesAt(stage: LoopStage, index: Expr): readonly Expr[] {
  return Array.from({ length: stage.copies * stage.together }, (_, vector) => {
    const at = addIndex(index, e.i32(vector * stage.lanes));
    return stage.lanes === 1 ? at : e.ramp(at, 1, stage.lanes);
  });
}

/** Where the blocks of a loop end. */
export interface BlockEnds {
  readonly steps: number;
  /** Whether the last block has nothing behind it. */
  readonly isLast: boolean;
}

/** A loop from `begin` to `end` in blocks, with statements behind each. */
export function loopInBlocks(
  name: string,
  { begin, end, step }: { readonly begin: Expr; readonly end: Expr; readonly step: number },
  { steps, isLast }: BlockEnds,
  body: (index: Expr) => Stmt,
  behind: () => Stmt,
): Stmt {
  const behindBlock = (next: Expr): Stmt =>
    isLast ? e.ifThen(e.lt(next, end), behind()) : behind();
  if (steps === 1) {
    const each = (index: Expr): Stmt => e.block(body(index), behindBlock(e.add(index, step)));
    return e.forLoop(name, begin, end, each, { step });
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
      return e.block(e.forLoop(name, first, until, body, { step }), behindBlock(last));
    },
    { step: length },
  );
}
