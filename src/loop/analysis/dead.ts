import { block, ifThen } from '../language/build.js';
import type { Expr, Stmt, Var } from '../language/nodes.js';
import { mapStmt, ownExprs, variablesOf, visitStmts } from '../language/visit.js';

/**
 * Removes locals that nothing outside their own assignments depends on, and the `for` loops and branches that
 * become empty. A `while` stays: it might never end.
 */
export function removeDeadLocals(body: Stmt): Stmt {
  const feeds = new Map<Var, Expr[]>();
  const roots: Expr[] = [];
  visitStmts(body, (stmt) => {
    if (stmt.kind !== 'declare' && stmt.kind !== 'assign') roots.push(...ownExprs(stmt));
    else {
      const values = feeds.get(stmt.variable);
      if (values === undefined) feeds.set(stmt.variable, [stmt.value]);
      else values.push(stmt.value);
    }
  });
  if (feeds.size === 0) return body;
  const live = new Set<Var>(variablesOf(roots));
  // A set visits elements that are added during the iteration.
  for (const variable of live) {
    const values = feeds.get(variable);
    if (values !== undefined) for (const read of variablesOf(values)) live.add(read);
  }
  const isNothing = (stmt: Stmt): boolean => stmt.kind === 'block' && stmt.body.length === 0;
  const prune = (stmt: Stmt): Stmt => {
    if (stmt.kind === 'declare' || stmt.kind === 'assign')
      return live.has(stmt.variable) ? stmt : block();
    const pruned = mapStmt(stmt, { stmt: prune });
    if (pruned.kind === 'for' && isNothing(pruned.body)) return block();
    if (pruned.kind !== 'if' || pruned.alternate === null || !isNothing(pruned.alternate))
      return pruned.kind === 'if' && isNothing(pruned.consequent) && pruned.alternate === null
        ? block()
        : pruned;
    return isNothing(pruned.consequent) ? block() : ifThen(pruned.condition, pruned.consequent);
  };
  return prune(body);
}
