import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import type { LoopRange } from '../../../loop/language/team.js';
import { chooseBy } from '../../../loop/language/choices.js';
import { blockEnd, isWithin } from '../../contraction/sizes.js';

/** The heights of the tiles after the full ones: the remainder, or single rows where it is unknown. */
export function remainders(extent: Expr, step: number): readonly number[] {
  const rest = chooseBy([extent], (size) => (size === null ? 1 : size % step));
  return rest === 0 ? [] : [rest];
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
    const rest: number | null = chooseBy([begin, extent], (from, to) => {
      if (from === null || to === null) return null;
      return to - from < size ? nothing : (to - from) % size;
    });
    if (rest === nothing) continue; // not even one fits
    const end = size === 1 ? extent : beforeRest(begin, extent, size, rest);
    statements.push(e.forLoop(name, begin, end, (start) => body(start, size), { step: size }));
    begin = end;
  }
  return e.block(...statements);
}

/** Of `tiled`: less than one tile is left. */
const nothing = -1;

/** End of the whole tiles of a range, behind which `rest` is left, null where that is unknown. */
export function beforeRest(begin: Expr, extent: Expr, size: number, rest: number | null): Expr {
  if (rest === null) return e.sub(extent, e.rem(e.sub(extent, begin), size));
  if (rest === 0) return extent;
  return extent.kind === 'const' ? e.i32(Number(extent.value) - rest) : e.sub(extent, rest);
}

/** All of `k`, or ranges of `step` in order; at least one, since empty sums are stored too. */
export function alongDepth(k: Expr, step: number, body: (from: Expr, to: Expr) => Stmt): Stmt {
  if (isWithin(k, step)) return body(e.i32(0), k);
  return e.forLoop('depth', 0, e.max(k, 1), (from) => body(from, blockEnd(from, step, k)), {
    step,
  });
}
