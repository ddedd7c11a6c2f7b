import type { Stmt } from '../language/nodes.js';
import { shareOf, type Team } from '../language/team.js';
import { mapStmt, substitution } from '../language/visit.js';

/**
 * The statement with the share of one thread of a team in the place of every parallel range. Law: when each thread has
 * run it, one after the other in any order, memory is as after the team has run the statement.
 */
export function divide(stmt: Stmt, team: Team): Stmt {
  if (stmt.kind !== 'parallel') return mapStmt(stmt, { stmt: (inner) => divide(inner, team) });
  const { begin, end } = shareOf(team, stmt.begin, stmt.end, stmt.step);
  const expr = substitution(
    new Map([
      [stmt.from, begin],
      [stmt.to, end],
    ]),
  );
  const replaced = (inner: Stmt): Stmt => mapStmt(inner, { expr, stmt: replaced });
  return replaced(stmt.body);
}
