import type { Buffer, Expr, Kernel, Var } from '../../loop/language/nodes.js';
import { ownExprs, visitExprs, visitStmts } from '../../loop/language/visit.js';

/** The variables and buffers of a kernel that are used other than by declaring and assigning them. */
export function usedVariables({ body }: Kernel): ReadonlySet<Var | Buffer> {
  const read = new Set<Var | Buffer>();
  const roots: Expr[] = [];
  visitStmts(body, (stmt) => {
    roots.push(...ownExprs(stmt));
    if (stmt.kind === 'store') read.add(stmt.buffer);
    else if (stmt.kind === 'barrier') read.add(stmt.meeting);
  });
  visitExprs(roots, (expr) => {
    if (expr.kind === 'var') read.add(expr);
    else if (expr.kind === 'load') read.add(expr.buffer);
  });
  return read;
}
