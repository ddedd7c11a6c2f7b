import * as e from '../../loop/language/build.js';
import type { Expr, Stmt } from '../../loop/language/nodes.js';
import type { Sink } from '../declare/lowering.js';
import { sameExpr } from '../loops.js';

/** Target indices along one axis: element `k` goes to `start + k * step`. */
export interface AxisPlacement {
  readonly start: Expr;
  readonly step: number;
  readonly length: Expr;
}

/**
 * Writes a block into a larger result: `value` at its positions, `fill` everywhere else. Along the last axis,
 * where steps are 1, the three segments are loops of their own, without a test.
 */
export function placeBlock(
  sink: Sink,
  axes: readonly AxisPlacement[],
  value: (source: readonly Expr[]) => Expr,
  fill: Expr,
): Stmt {
  const visit = (index: readonly Expr[], source: readonly Expr[], inside: Expr | null): Stmt => {
    const axis = index.length;
    if (axis === axes.length) {
      const stored = sink.store(index, value(source));
      return inside === null ? stored : e.ifThen(inside, stored, sink.store(index, fill));
    }
    const placement = axes[axis];
    const extent = sink.shape[axis];
    if (axis === axes.length - 1 && Math.abs(placement.step) === 1)
      return row(index, source, inside);
    return e.forLoop(`i${axis}`, 0, extent, (i) => {
      if (covers(placement, extent)) return visit([...index, i], [...source, i], inside);
      const [position, within] = locate(i, placement);
      return visit([...index, i], [...source, position], both(inside, within));
    });
  };

  const row = (index: readonly Expr[], source: readonly Expr[], inside: Expr | null): Stmt => {
    const { start, step, length } = axes[index.length];
    const extent = sink.shape[index.length];
    const filled = (from: Expr | number, to: Expr): Stmt =>
      e.forLoop('i', from, to, (i) => sink.store([...index, i], fill), { mode: 'vector' });
    const first = step > 0 ? start : e.add(e.sub(start, length), 1);
    const end = e.add(first, length);
    const placed = e.forLoop(
      'i',
      first,
      end,
      (i) => {
        const position = step > 0 ? e.sub(i, start) : e.sub(start, i);
        return sink.store([...index, i], value([...source, position]));
      },
      { mode: 'vector' },
    );
    const mixed = covers(axes[index.length], extent)
      ? placed
      : e.block(filled(0, first), placed, filled(end, extent));
    return inside === null ? mixed : e.ifThen(inside, mixed, filled(0, extent));
  };

  return visit([], [], null);
}

function covers({ start, step, length }: AxisPlacement, extent: Expr): boolean {
  return step === 1 && start.kind === 'const' && start.value === 0 && sameExpr(length, extent);
}

/** The index in the block of a result's index, and the condition that the block contains it. */
function locate(i: Expr, { start, step, length }: AxisPlacement): [Expr, Expr] {
  const distance = step > 0 ? e.sub(i, start) : e.sub(start, i);
  const stride = Math.abs(step);
  const position = stride === 1 ? distance : e.div(distance, stride);
  const within = e.and(e.ge(distance, 0), e.lt(position, length));
  return [position, stride === 1 ? within : e.and(within, e.eq(e.rem(distance, stride), 0))];
}

function both(a: Expr | null, b: Expr): Expr {
  return a === null ? b : e.and(a, b);
}
