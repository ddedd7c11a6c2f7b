import type * as t from '@babel/types';
import type { Scopes } from './scopes.js';
import { contains, unwrapped } from './walk.js';

/** The counter of a loop that counts up or down to a limit, which bounds the number of iterations. */
export interface LoopBound {
  readonly counter: t.Identifier;
  readonly limit: t.Node;
  /** The number that each iteration adds to the counter. */
  readonly step: number;
  /** True where the loop runs for the limit itself, too. */
  readonly isInclusive: boolean;
  /** True where the loop has no other condition. */
  readonly isWhole: boolean;
  /** True for a counter that the loop declares, which nobody reads behind it. */
  readonly isOwn: boolean;
}

/** The bound that the head of a `for` loop tells; null where none is told, or where the body writes the counter. */
export function loopBoundOf(node: t.ForStatement, scopes: Scopes): LoopBound | null {
  const { test, update } = node;
  if (!test || !update) return null;
  const stepped = stepOf(update);
  if (stepped === null) return null;
  const { counter, step } = stepped;
  const binding = scopes.references.get(counter)?.binding;
  if (binding === undefined) return null;
  const isLeft = binding.references.every(
    ({ writes, identifier, from }) =>
      !writes ||
      (from.owner === binding.scope.owner &&
        (contains(update, identifier) || !contains(node.body, identifier)) &&
        !contains(test, identifier)),
  );
  if (!isLeft) return null;
  const parts = conjuncts(test);
  for (const [i, part] of parts.entries()) {
    if (part.type !== 'BinaryExpression') continue;
    const { left, operator, right } = part;
    if (operator !== (step > 0 ? '<' : '>') && operator !== (step > 0 ? '<=' : '>=')) continue;
    const isCounter = left.type === 'Identifier' && scopes.references.get(left)?.binding === binding; // prettier-ignore
    // A later condition may be there to see that the object of a member exists.
    if (isCounter && isPlace(right, i === 0)) {
      const isOwn = binding.kind === 'let' && binding.scope.node === node;
      const isWhole = parts.length === 1;
      return { counter: left, limit: right, step, isInclusive: operator.length === 2, isWhole, isOwn }; // prettier-ignore
    }
  }
  return null;
}

function stepOf(
  update: t.Expression,
): { readonly counter: t.Identifier; readonly step: number } | null {
  if (update.type === 'UpdateExpression' && update.argument.type === 'Identifier') {
    return { counter: update.argument, step: update.operator === '++' ? 1 : -1 };
  }
  if (update.type !== 'AssignmentExpression' || update.left.type !== 'Identifier') return null;
  const { left: counter, operator, right } = update;
  if (right.type !== 'NumericLiteral' || !Number.isSafeInteger(right.value) || right.value === 0)
    return null;
  if (operator === '+=') return { counter, step: right.value };
  return operator === '-=' ? { counter, step: -right.value } : null;
}

/** Conditions that all have to hold. */
function conjuncts(test: t.Node): readonly t.Node[] {
  const node = unwrapped(test);
  return node.type === 'LogicalExpression' && node.operator === '&&'
    ? [...conjuncts(node.left), ...conjuncts(node.right)]
    : [node];
}

/** True for what can be read once more: a literal, a name, a member of such, or their sum or difference. */
function isPlace(expression: t.Node, isMemberAllowed: boolean): boolean {
  const node = unwrapped(expression);
  if (node.type === 'MemberExpression') {
    return isMemberAllowed && !node.computed && node.property.type === 'Identifier' && isPlace(node.object, true); // prettier-ignore
  }
  if (node.type === 'BinaryExpression' && /^[-+]$/.test(node.operator))
    return isPlace(node.left, isMemberAllowed) && isPlace(node.right, isMemberAllowed);
  return ['NumericLiteral', 'Identifier', 'ThisExpression'].includes(node.type);
}
