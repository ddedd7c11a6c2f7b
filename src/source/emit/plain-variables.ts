import type * as t from '@babel/types';
import type { VariableBinding, Scopes } from '../syntax/scopes.js';
import { unwrapped, visitNodes } from '../syntax/walk.js';
import { isPlainKind } from './kinds.js';

/**
 * The variables that hold no array in the host form, whatever happens: every write gives them a value that
 * is none by its syntax, or that of another such variable.
 */
export function plainVariables(program: t.Program, scopes: Scopes): ReadonlySet<VariableBinding> {
  const values = writtenValues(program);
  const candidates = new Set<VariableBinding>();
  for (const { binding } of scopes.references.values()) {
    const { kind, references, scope } = binding;
    const isOwn = kind === 'let' || kind === 'const' || kind === 'var';
    // Functions inside may write while code is captured, in which numbers become arrays.
    const isKnown = references.every(
      ({ writes, identifier, from }) =>
        !writes || (values.has(identifier) && from.owner === scope.owner),
    );
    if (isOwn && isKnown) candidates.add(binding);
  }
  const isPlainName = (identifier: t.Node): boolean => {
    const binding = scopes.references.get(identifier)?.binding;
    return binding !== undefined && candidates.has(binding);
  };
  // The largest set of which each member keeps to the others.
  for (let isSettled = false; !isSettled;) {
    isSettled = true;
    for (const binding of candidates) {
      const isPlainWrite = ({
        writes,
        identifier,
      }: VariableBinding['references'][number]): boolean => {
        const value = values.get(identifier);
        return !writes || value === null || (value !== undefined && isPlainKind(value, 'host', isPlainName)); // prettier-ignore
      };
      if (binding.references.every(isPlainWrite)) continue;
      candidates.delete(binding);
      isSettled = false;
    }
  }
  return candidates;
}

/** The value of each simple write by the name it writes; null where it is a number or undefined. */
function writtenValues(program: t.Program): ReadonlyMap<t.Node, t.Node | null> {
  const values = new Map<t.Node, t.Node | null>();
  visitNodes(program, (node) => {
    if (node.type === 'VariableDeclarator' && node.id.type === 'Identifier') {
      values.set(node.id, node.init ?? null);
    } else if (node.type === 'UpdateExpression') values.set(unwrapped(node.argument), null);
    else if (node.type === 'AssignmentExpression') {
      const isArithmetic = !/^(?:|\|\||&&|\?\?)=$/.test(node.operator);
      values.set(unwrapped(node.left), isArithmetic ? null : node.right);
    }
  });
  // The declaration in the head of such a loop looks like one without a value.
  visitNodes(program, (node) => {
    if (node.type === 'ForOfStatement' && node.left.type === 'VariableDeclaration') {
      values.delete(node.left.declarations[0].id);
    }
  });
  return values;
}
