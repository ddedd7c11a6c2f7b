import type * as t from '@babel/types';
import type { Scopes } from './scopes.js';
import { contains, isTypeOnly } from './walk.js';
import { jumpsIn, type LoopShape } from './shape.js';

/*
 * Statements at the start of a loop's body that may leave the loop before the iteration has changed anything: their
 * tests can be asked together with the test of the loop, so that the rest of the body needs no branch.
 */

/** The statements that leave a loop at the start of its body; no other jump does. */
export interface ExitStatements {
  readonly statements: readonly t.IfStatement[];
  /** True where each is a `break` of the loop alone. */
  readonly areBreaks: boolean;
}

/** The leading exits of a loop; null where other jumps leave it, too. */
export function leadingExitsOf(node: LoopShape, scopes: Scopes): ExitStatements | null {
  const jumps = jumpsIn(node);
  const leaving = jumps.filter(
    ({ jump, target, path }) =>
      target === null ||
      !(target === node || path.slice(1).includes(target)) ||
      (target === node && jump.type === 'BreakStatement'),
  );
  const body = node.body.type === 'BlockStatement' ? node.body.body : [];
  const statements: t.IfStatement[] = [];
  const before: t.Node[] = [];
  let areBreaks = true;
  for (const statement of body) {
    if (isInert(statement)) {
      before.push(statement);
      continue;
    }
    if (statement.type !== 'IfStatement' || statement.alternate) break;
    const last = lastOf(statement.consequent);
    if (!leaving.some(({ jump }) => jump === last)) break;
    const inside = jumps.filter(({ jump }) => contains(statement.consequent, jump));
    // Its label may be that of this loop.
    if (inside.some(({ jump }) => jump.type === 'ContinueStatement')) break;
    const isBreak = inside.length === 1 && isBreakAlone(statement.consequent) && inside[0].target === node; // prettier-ignore
    // What another exit does is done behind the loop, for which there has to be one reason.
    if (!isBreak && statements.length > 0) break;
    statements.push(statement);
    areBreaks = isBreak;
    if (!isBreak) break;
  }
  const isLeft = leaving.some(({ jump }) => !statements.some((each) => contains(each, jump)));
  if (isLeft) return null;
  const end = statements.at(-1)?.end ?? 0;
  const asked = before.filter((each) => each.end! <= end);
  const rest = body.filter((each) => each.start! >= end);
  // What the rest of the body reads would be computed for the test and once more.
  const isShared = [...scopes.references.values()].some(
    ({ binding, identifier }) =>
      asked.some((each) => binding.declaredAt >= each.start! && binding.declaredAt < each.end!) &&
      rest.some((each) => contains(each, identifier)),
  );
  if (!isShared) return { statements, areBreaks };
  return statements.length === 0 ? { statements, areBreaks } : null;
}

/** True for a statement that only declares variables of the body, if their values have no effects. */
function isInert(node: t.Node): boolean {
  const isDeclaration = node.type === 'VariableDeclaration' && node.kind !== 'var';
  return isDeclaration || node.type === 'EmptyStatement' || isTypeOnly(node);
}

function lastOf(node: t.Node): t.Node {
  const last = node.type === 'BlockStatement' ? node.body.at(-1) : undefined;
  return last === undefined ? node : lastOf(last);
}

function isBreakAlone(node: t.Node): boolean {
  if (node.type === 'BlockStatement') return node.body.length === 1 && isBreakAlone(node.body[0]);
  return node.type === 'BreakStatement';
}
