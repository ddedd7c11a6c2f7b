import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import type { LoopRange } from '../../../loop/language/team.js';
import { blockEnd, isWithin, known } from '../../contraction/sizes.js';

/** The heights of the tiles after the full ones: the remainder, or single rows where it is unknown. */
export function remainders(extent: Expr, step: number): readonly number[] {
  const size = known(extent);
  return size === null ? [1] : size % step === 0 ? [] : [size % step];
}

/** Covers a range with tiles of the first size while they fit, then of the next. */
export function tiled(
  name: string,
  range: LoopRange,
  sizes: readonly number[],
  body: (start: Var, size: number) => Stmt,
): Stmt {
  const statements: Stmt[] = [];
  let { begin } = range;
  const extent = range.end;
  for (const size of new Set(sizes)) {
    const from: number | null = known(begin);
    const to = known(extent);
    if (from !== null && from === to) break;
    if (from !== null && to !== null && to - from < size) continue; // not even one fits
    const whole: Expr =
      from !== null && to !== null
        ? e.i32(to - ((to - from) % size))
        : e.sub(extent, e.rem(e.sub(extent, begin), size));
    const end: Expr = size === 1 ? extent : whole;
    statements.push(e.forLoop(name, begin, end, (start) => body(start, size), { step: size }));
    begin = end;
  }
  return e.block(...statements);
}

/** All of `k`, or ranges of `step` in order; at least one, since empty sums are stored too. */
export function alongDepth(k: Expr, step: number, body: (from: Expr, to: Expr) => Stmt): Stmt {
  if (isWithin(k, step)) return body(e.i32(0), k);
  return e.forLoop('depth', 0, e.max(k, 1), (from) => body(from, blockEnd(from, step, k)), {
    step,
  });
}
