import { ceilDivDim, type Dim, sameDim, elementCount } from '../../../base/dim/index.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { overRange } from '../../../loop/language/team.js';
import { unravel } from '../../../ops/contraction/unravel.js';
import type { BlockLoops } from './direct.js';
import type { Windowed } from './spec.js';

/**
 * Every block of results of `rows` by `columns`, divided among threads. Blocks are alike for any number of
 * threads; each brings its own part of the input with it.
 */
export function overBlocks(
  windows: Windowed,
  { prepare, block }: BlockLoops,
  rows: number,
  columns: Dim,
): Stmt {
  const { context, images } = windows;
  const [z, y, x] = windows.axes.map(({ count }) => count);
  const counts = [images, z, ceilDivDim(y, rows), sameDim(columns, x) ? 1 : ceilDivDim(x, columns)];
  const all = context.extent(elementCount(counts));
  return e.block(
    ...windows.input.prepare,
    ...windows.weights.prepare,
    prepare,
    overRange(context.isDivided, { begin: e.i32(0), end: all }, 1, ({ begin, end }) =>
      e.forLoop('block', begin, end, (at) => {
        const [image, plane, down, across] = unravel(at, counts.map(context.extent));
        const corner = [plane, e.mul(down, rows), e.mul(across, context.extent(columns))] as const;
        return block({ image, corner });
      }),
    ),
  );
}

/** Number of rows or columns from `start` on, at most `most`. */
export function part({ axes, context }: Windowed, axis: 1 | 2, start: Expr, most: Dim): Expr {
  const { count } = axes[axis];
  if (sameDim(count, most)) return context.extent(most);
  const rest = e.sub(context.extent(count), start);
  const divides = typeof count === 'number' && typeof most === 'number' && count % most === 0;
  return divides ? context.extent(most) : e.min(rest, context.extent(most));
}
