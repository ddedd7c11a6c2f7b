import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import type { LoopRange } from '../../../loop/language/team.js';
import {
  type NestLoop,
  nest,
  type NestPlan,
  overLoop,
  type SharedLoop,
} from '../../../ops/nests/nest.js';

/** Iterations of each of two loops in one tile: measured best of 16, 32 and 64. */
export const tileExtent = 64;

/**
 * Two loops with opposite memory order, as in a transposition: the innermost one jumps where another one
 * advances by single elements. Tiled, every cache line of the jumps is fully used before it is evicted. Null
 * when there are none, or too few iterations to matter.
 */
export function loopsToTile({ loops, steps }: NestPlan): readonly [NestLoop, NestLoop] | null {
  const inner = loops[loops.length - 1];
  if (inner === undefined || !isLong(inner)) return null;
  const within = steps.get(inner) ?? [];
  for (let address = 0; address < within.length; address++) {
    if (within[address] === 0 || within[address] === 1 || within[address] === -1) continue;
    const along = loops.find((loop) => loop !== inner && steps.get(loop)?.[address] === 1);
    if (along !== undefined && isLong(along)) return [along, inner];
  }
  return null;
}

function isLong({ extent }: NestLoop): boolean {
  return extent.kind !== 'const' || Number(extent.value) >= tileExtent;
}

/** The nest over all loops in which two are tiled; iterations must be independent of each other. */
export function tiledNest(
  loops: readonly NestLoop[],
  [along, inner]: readonly [NestLoop, NestLoop],
  body: (at: readonly Expr[]) => Stmt,
  shared: SharedLoop | null = null,
): Stmt {
  const others = loops.filter((loop) => loop !== along && loop !== inner);
  const tile = (othersAt: readonly Expr[], alongRange: LoopRange, innerRange: LoopRange): Stmt =>
    e.forLoop('i', alongRange.begin, alongRange.end, (alongAt) =>
      e.forLoop(
        'j',
        innerRange.begin,
        innerRange.end,
        (innerAt) =>
          body(
            loops.map((loop) => {
              if (loop === along) return alongAt;
              return loop === inner ? innerAt : othersAt[others.indexOf(loop)];
            }),
          ),
        { mode: 'vector' },
      ),
    );
  return nest(
    others,
    (othersAt) =>
      tiles(along, shared, (alongRange) =>
        tiles(inner, shared, (innerRange) => tile(othersAt, alongRange, innerRange)),
      ),
    'serial',
    shared,
  );
}

function tiles(loop: NestLoop, shared: SharedLoop | null, body: (tile: LoopRange) => Stmt): Stmt {
  const { extent } = loop;
  const isWhole = extent.kind === 'const' && Number(extent.value) % tileExtent === 0;
  return overLoop(loop, shared, (all) =>
    e.forLoop(
      'tile',
      all.begin,
      all.end,
      (begin) => {
        const end = e.add(begin, tileExtent);
        return body({ begin, end: isWhole ? end : e.min(end, extent) });
      },
      { step: tileExtent },
    ),
  );
}
