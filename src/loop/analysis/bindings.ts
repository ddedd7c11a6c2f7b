import { variable } from '../language/build.js';
import type { Expr, Kernel, Stmt, Var } from '../language/nodes.js';
import { mapStmt, substitution, visitStmts, withBody } from '../language/visit.js';

/** A new variable of the same type and name. */
export function sibling(original: Var, lanes: number = original.type.lanes): Var {
  return variable(original.name, original.type.scalar, lanes);
}

/**
 * A copy of a statement with fresh bound variables; free variables are replaced as given. Used wherever code
 * is duplicated, so that a variable is bound in one place only.
 */
export function copyStmt(stmt: Stmt, replace: ReadonlyMap<Var, Expr> = new Map()): Stmt {
  const names = new Map<Var, Expr>(replace);
  let expr = substitution(names);
  const bind = (bound: Var): Var => {
    // Facts about a variable that gets a second binding no longer hold.
    if (names.has(bound)) expr = substitution(names);
    const fresh = sibling(bound);
    names.set(bound, fresh);
    return fresh;
  };
  const copy = (inner: Stmt): Stmt => {
    if (inner.kind === 'for') {
      const [begin, end] = [expr(inner.begin), expr(inner.end)];
      return { ...inner, begin, end, variable: bind(inner.variable), body: copy(inner.body) };
    }
    return mapStmt(inner, {
      expr: (x) => expr(x),
      variable: (v) => (inner.kind === 'declare' ? bind(v) : ((names.get(v) ?? v) as Var)),
      stmt: copy,
    });
  };
  return copy(stmt);
}

/**
 * The kernel with every variable bound in one place only. The IR allows disjoint scopes to bind one variable;
 * passes that collect facts about variables start with this.
 */
export function separateBindings(kernel: Kernel): Kernel {
  const bound = new Set<Var>();
  let repeated = false;
  visitStmts(kernel.body, (stmt) => {
    if (stmt.kind !== 'declare' && stmt.kind !== 'for') return;
    repeated ||= bound.has(stmt.variable);
    bound.add(stmt.variable);
  });
  return repeated ? withBody(kernel, copyStmt(kernel.body)) : kernel;
}
