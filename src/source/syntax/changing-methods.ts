import type * as t from '@babel/types';
import { unwrapped } from './walk.js';

/* Calls of the language that change an object: what the runtime has to be told of where an array may decide. */

/** The name of the member that a node is, if syntax tells it. */
export function memberName(node: t.Node): string | null {
  if (node.type !== 'MemberExpression' && node.type !== 'OptionalMemberExpression') return null;
  const { property, computed } = node;
  if (!computed) return property.type === 'Identifier' ? property.name : null;
  return property.type === 'StringLiteral' ? property.value : null;
}

/**
 * True for the name of a method that changes what it is called on: a list, map or set, a date, the bytes of a view, the
 * place in an iterator, or that of a regular expression.
 */
export function isChangingMethod(name: string | null): boolean {
  return name !== null && (methods.has(name) || /^set[A-Z]/.test(name));
}

const methods: ReadonlySet<string> = new Set(
  'push pop shift unshift splice fill copyWithin set delete clear sort reverse add next return throw test exec'.split(' '), // prettier-ignore
);

/**
 * The argument that a call of a function of the language changes: `Object.assign(object, ...)`,
 * `Array.prototype.push.call(list, ...)`. `isFree`: true for a name that the code does not declare.
 */
export function changedArgument(
  node: t.CallExpression,
  isFree: (root: t.Node) => boolean,
): t.Node | null {
  const path: string[] = [];
  let root = unwrapped(node.callee);
  for (; root.type === 'MemberExpression'; root = unwrapped(root.object)) {
    const name = memberName(root);
    if (name === null) return null;
    path.unshift(name);
  }
  if (root.type !== 'Identifier' || !isFree(root)) return null;
  const [argument] = node.arguments;
  const [first, second, third] = path;
  const isChanging =
    path.length === 1
      ? functions[root.name]?.has(first) === true
      : path.length === 3 && first === 'prototype' && isChangingMethod(second) && (third === 'call' || third === 'apply'); // prettier-ignore
  return isChanging ? (argument ?? null) : null;
}

/** Functions that change their first argument, by the object that has them. */
const functions: Readonly<Record<string, ReadonlySet<string>>> = {
  Object: new Set('assign defineProperty defineProperties freeze seal preventExtensions setPrototypeOf'.split(' ')), // prettier-ignore
  Reflect: new Set('set defineProperty deleteProperty preventExtensions setPrototypeOf'.split(' ')),
  Atomics: new Set('add and compareExchange exchange or store sub xor'.split(' ')),
};
