import * as e from '../../loop/language/build.js';
import type { Expr, Stmt } from '../../loop/language/nodes.js';
import { addIndex } from '../../ops/nests/access.js';

/** A range of iterations that runs `copies` times `together` vectors of `lanes` at a time. */
export interface LoopStage {
  readonly lanes: number;
  /** Number of independent copies. */
  readonly copies: number;
  /** Neighboring vectors that each of them takes in one step. */
  readonly together: number;
  readonly begin: Expr;
  readonly end: Expr;
}

/**
 * Cuts the iterations 0 to `extent` into a part that takes several vectors together, a part that keeps
 * `copies` vectors in flight, a part of single vectors, and a scalar tail. Provably empty parts are omitted.
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

/** The greatest multiple of a power of two that does not exceed the extent. */
function wholeMultiple(extent: Expr, of: number): Expr {
  if (of === 1) return extent;
  if (extent.kind === 'const') return e.i32(Number(extent.value) - (Number(extent.value) % of));
  return e.and(extent, -of);
}

function isEmpty(begin: Expr, end: Expr): boolean {
  return begin.kind === 'const' && end.kind === 'const' && begin.value === end.value;
}

/** Iterations of one step of a stage. */
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

/** `stageLoop` in blocks, with statements after each. */
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

/** Block boundaries of a loop. */
export interface BlockEnds {
  readonly steps: number;
  /** True when no statements follow the last block. */
  readonly isLast: boolean;
}

/** A loop from `begin` to `end` in blocks, with statements after each. */
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
