import type * as t from '@babel/types';
import type { VariableBinding } from '../syntax/scopes.js';
import { contains, unwrapped, visitNodes } from '../syntax/walk.js';
import type { FileContext } from './form.js';

/** A variable from outside of a function, or a member of one by its names, that the function reads. */
interface OutsideRead {
  readonly binding: VariableBinding;
  readonly keys: readonly string[];
}

/** Kinds of variables that keep their first value. */
const constant: ReadonlySet<string> = new Set(['const', 'function', 'class']);

/**
 * The variables and members that a function reads from outside, as arguments of the runtime. Left out is what the
 * function itself assigns, and what cannot become another value: constants, and functions of modules.
 */
export function outsideReads(node: t.Function, { scopes }: FileContext): readonly string[] {
  const callees = new Set<t.Node>();
  const handled = new Set<t.Node>();
  const assigned = new Set<string>();
  const found = new Map<string, OutsideRead>();
  const bindingOf = (name: t.Node): VariableBinding | undefined => {
    const binding = scopes.references.get(name)?.binding;
    const isOutside = binding !== undefined && !contains(node, binding.scope.node);
    return isOutside && binding.kind !== 'free' ? binding : undefined;
  };
  const note = (root: t.Node, keys: readonly string[], isCallee: boolean): void => {
    const binding = bindingOf(root);
    if (binding === undefined || (binding.kind === 'import' && isCallee)) return;
    if (keys.length === 0 && constant.has(binding.kind)) return;
    if (binding.references.some(({ writes, identifier }) => writes && contains(node, identifier))) return; // prettier-ignore
    found.set([binding.name, ...keys].join('.'), { binding, keys });
  };
  visitNodes(node, (each) => {
    if (each.type === 'CallExpression' || each.type === 'NewExpression') {
      callees.add(unwrapped(each.callee));
    } else if (each.type === 'AssignmentExpression' || each.type === 'UpdateExpression') {
      const target = unwrapped(each.type === 'UpdateExpression' ? each.argument : each.left);
      if (target.type === 'MemberExpression') {
        const { root, keys } = memberPath(target);
        if (root.type === 'Identifier') assigned.add([root.name, ...keys].join('.'));
      }
    }
    if (handled.has(each)) return;
    if (each.type === 'MemberExpression') {
      const { root, keys, inside } = memberPath(each);
      for (const part of inside) handled.add(part);
      if (root.type === 'Identifier') {
        handled.add(root);
        note(root, keys, callees.has(each) && keys.length === inside.length);
      }
    } else if (each.type === 'Identifier') note(each, [], callees.has(each));
  });
  const isAssigned = (path: string): boolean =>
    [...assigned].some((other) => path === other || path.startsWith(`${other}.`));
  return [...found]
    .filter(([path]) => !isAssigned(path))
    .map(([, { binding, keys }]) =>
      [`[() => ${binding.name}`, ...[binding.name, ...keys].map((key) => `'${key}'`)].join(', ') + ']',
    ); // prettier-ignore
}

/** The object at the root of a member, and the names from there as far as syntax gives them. */
function memberPath(member: t.MemberExpression): {
  readonly root: t.Node;
  readonly keys: readonly string[];
  readonly inside: readonly t.Node[];
} {
  const inside: t.Node[] = [];
  const names: (string | null)[] = [];
  let at: t.Node = member;
  while (at.type === 'MemberExpression') {
    inside.push(at);
    const { computed, property } = at as t.MemberExpression;
    names.unshift(!computed && property.type === 'Identifier' ? property.name : null);
    at = unwrapped((at as t.MemberExpression).object);
  }
  const unknown = names.indexOf(null);
  return { root: at, keys: (unknown < 0 ? names : names.slice(0, unknown)) as string[], inside };
}
