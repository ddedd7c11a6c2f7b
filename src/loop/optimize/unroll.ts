import { copyStmt, separateBindings } from '../analysis/bindings.js';
import { add, block } from '../language/build.js';
import type { For, Kernel, Stmt } from '../language/nodes.js';
import { addScaled, constantValue } from '../analysis/polynomial.js';
import { Purity } from '../analysis/purity.js';
import { ExprSimplifier } from '../simplify/expressions.js';
import { assignedVariables, mapStmt, visitStmts, withBody } from '../language/visit.js';

/** Trip count limit: more code would not fit the instruction cache. */
const mostTrips = 1024;

/**
 * Unrolls loops of mode `unroll` with a constant trip count. Those without one, or with too large a one,
 * become serial.
 */
export function unroll(kernel: Kernel): Kernel {
  if (!wantsUnrolling(kernel.body)) return kernel;
  const separate = separateBindings(kernel);
  const exprs = new ExprSimplifier(separate);
  const purity = new Purity(assignedVariables(separate.body));

  const { facts } = exprs;

  const tripsOf = ({ begin, end, step }: For): number | null => {
    if (!purity.isHarmless(begin) || !facts.isExact(begin) || !facts.isExact(end)) return null;
    const length = constantValue(addScaled(facts.polynomial(end), facts.polynomial(begin), -1));
    if (length === null) return null;
    const trips = Math.max(0, Math.ceil(length / step));
    return trips <= mostTrips ? trips : null;
  };

  const visit = (stmt: Stmt): Stmt => {
    if (stmt.kind !== 'for') return mapStmt(stmt, { stmt: visit });
    const loop = { ...stmt, begin: exprs.simplify(stmt.begin), end: exprs.simplify(stmt.end) };
    if (purity.isConstant(loop.begin) && purity.isConstant(loop.end)) facts.enterLoop(loop, 1);
    const body = visit(stmt.body);
    const trips = stmt.mode === 'unroll' ? tripsOf(loop) : null;
    if (trips === null) return body === stmt.body ? stmt : { ...stmt, body };
    const copies = Array.from({ length: trips }, (_, trip) => {
      const index = exprs.simplify(add(loop.begin, trip * loop.step));
      return copyStmt(body, new Map([[loop.variable, index]]));
    });
    // Inner bounds that depended on the variable may have become constant.
    return block(...(wantsUnrolling(body) ? copies.map(visit) : copies));
  };
  return withBody(kernel, withoutUnrolling(visit(separate.body)));
}

/** The rest could not be unrolled, in no enclosing loop either. */
function withoutUnrolling(stmt: Stmt): Stmt {
  const inner = mapStmt(stmt, { stmt: withoutUnrolling });
  return inner.kind === 'for' && inner.mode === 'unroll' ? { ...inner, mode: 'serial' } : inner;
}

function wantsUnrolling(body: Stmt): boolean {
  let wanted = false;
  visitStmts(body, (stmt) => {
    wanted ||= stmt.kind === 'for' && stmt.mode === 'unroll';
  });
  return wanted;
}
