import * as e from '../../loop/build.js';
import type { Expr, Stmt } from '../../loop/nodes.js';
import { type Loop, nest, type NestPlan } from './nest.js';

/** Iterations of each of two loops in one tile: measured best of 16, 32 and 64. */
const tileExtent = 64;

/**
 * Two loops that move through memory in opposite ways, as in a transposition: the innermost one jumps
 * where another one advances by single elements. Run tile by tile, every cache line that the jumps
 * touch is used up before it is evicted. Null when there are none, or too few iterations to matter.
 */
export function loopsToTile({ loops, steps }: NestPlan): readonly [Loop, Loop] | null {
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

function isLong({ extent }: Loop): boolean {
  return extent.kind !== 'const' || Number(extent.value) >= tileExtent;
}

/** The nest over all loops in which two are tiled; iterations must be independent of each other. */
export function tiledNest(
  loops: readonly Loop[],
  [along, inner]: readonly [Loop, Loop],
  body: (at: readonly Expr[]) => Stmt,
): Stmt {
  const others = loops.filter((loop) => loop !== along && loop !== inner);
  return nest(others, (othersAt) =>
    tiles('tile', along, (alongBegin, alongEnd) =>
      tiles('tile', inner, (innerBegin, innerEnd) =>
        e.forLoop('i', alongBegin, alongEnd, (alongAt) =>
          e.forLoop(
            'j',
            innerBegin,
            innerEnd,
            (innerAt) =>
              body(
                loops.map((loop) => {
                  if (loop === along) return alongAt;
                  return loop === inner ? innerAt : othersAt[others.indexOf(loop)];
                }),
              ),
            { mode: 'vector' },
          ),
        ),
      ),
    ),
  );
}

function tiles(name: string, { extent }: Loop, body: (begin: Expr, end: Expr) => Stmt): Stmt {
  const isWhole = extent.kind === 'const' && Number(extent.value) % tileExtent === 0;
  return e.forLoop(
    name,
    0,
    extent,
    (begin) => {
      const end = e.add(begin, tileExtent);
      return body(begin, isWhole ? end : e.min(end, extent));
    },
    { step: tileExtent },
  );
}
