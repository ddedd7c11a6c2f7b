import type { VariableBinding } from '../syntax/scopes.js';
import { isFunction } from '../syntax/walk.js';

/*
 * Variables that functions inside of their own write. Code that calls such a function may not see the variable, so
 * an object beside the variable stands for it: the runtime is told of writes to it, as of those to members.
 */

/** The name of the object beside a variable; null for a variable that needs none. */
export function environmentOf(binding: VariableBinding, runtime: string): string | null {
  const { kind, scope, references, declaredAt } = binding;
  if ((kind !== 'let' && kind !== 'var' && kind !== 'parameter') || !isFunction(scope.owner.node)) return null; // prettier-ignore
  const isWrittenInside = references.some(({ writes, from }) => writes && from.owner !== scope.owner); // prettier-ignore
  return isWrittenInside ? `${runtime}_at${declaredAt}` : null;
}

/** The object, where the code that declares the variable has one. */
export function presentEnvironment(name: string): string {
  return `typeof ${name} === 'undefined' ? null : ${name}`;
}
