import { copyStmt, separateBindings } from './bindings.js';
import { add, block } from './build.js';
import type { For, Kernel, Stmt } from './nodes.js';
import { addScaled, constantValue } from './polynomial.js';
import { Purity } from './purity.js';
import { ExprSimplifier } from './simplify/expressions.js';
import { assignedVariables, mapStmt, withBody } from './visit.js';

/** Longer loops stay loops: the code would no longer fit the instruction cache. */
const mostTrips = 1024;

/** Turns loops of mode `unroll` whose number of trips is constant into straight-line code. */
export function unroll(kernel: Kernel): Kernel {
  const separate = separateBindings(kernel);
  const exprs = new ExprSimplifier(separate);
  const purity = new Purity(assignedVariables(separate.body));

  const tripsOf = (loop: For): number | null => {
    const [begin, end] = [exprs.simplify(loop.begin), exprs.simplify(loop.end)];
    if (!purity.isHarmless(begin) || !exprs.facts.isExact(begin) || !exprs.facts.isExact(end))
      return null;
    const { facts } = exprs;
    const length = constantValue(addScaled(facts.polynomial(end), facts.polynomial(begin), -1));
    if (length === null) return null;
    const trips = Math.max(0, Math.ceil(length / loop.step));
    return trips <= mostTrips ? trips : null;
  };

  const visit = (stmt: Stmt): Stmt => {
    const inner = mapStmt(stmt, { stmt: visit });
    if (inner.kind !== 'for' || inner.mode !== 'unroll') return inner;
    const trips = tripsOf(inner);
    if (trips === null) return inner;
    const copies = Array.from({ length: trips }, (_, trip) => {
      const index = exprs.simplify(add(inner.begin, trip * inner.step));
      return copyStmt(inner.body, new Map([[inner.variable, index]]));
    });
    return block(...copies);
  };
  return withBody(kernel, visit(separate.body));
}
