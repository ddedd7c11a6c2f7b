import type * as t from '@babel/types';
import { contains, unwrapped } from '../syntax/walk.js';
import type { Form } from './form.js';
import { added, type Piece } from './output.js';

/* Optional chains: `value?.member.method()` is the value, and what follows the `?.`. */

export type OptionalChain = t.OptionalMemberExpression | t.OptionalCallExpression;

/** The last `?.` of a chain and the value before it; null for a call of a method, `value.method?.()`, which keeps `this`. */
export function linkOf(
  chain: OptionalChain,
): { readonly link: OptionalChain; readonly head: t.Node } | null {
  let at: t.Node = chain;
  for (;;) {
    if (at.type === 'TSNonNullExpression') at = at.expression;
    else if (at.type === 'OptionalMemberExpression') {
      if (at.optional) return { link: at, head: at.object };
      at = at.object;
    } else if (at.type === 'OptionalCallExpression') {
      const { callee }: t.OptionalCallExpression = at;
      if (at.optional)
        return /Member/.test(unwrapped(callee).type) ? null : { link: at, head: callee };
      at = callee;
    } else return null;
  }
}

/** The code behind a link, with a name for the value before it. */
export function afterLink(
  form: Form,
  node: t.Node,
  link: OptionalChain,
  value: string,
  index: (node: t.Node) => readonly Piece[],
): readonly Piece[] {
  if (node !== link) {
    return form.copy(node, (child) => {
      if (contains(child, link)) return afterLink(form, child, link, value, index);
      const isIndex = node.type === 'OptionalMemberExpression' && node.computed && child === node.property; // prettier-ignore
      return isIndex ? index(child) : form.expression(child);
    });
  }
  if (link.type === 'OptionalMemberExpression') {
    return link.computed
      ? [added(`${value}[`), ...index(link.property), added(']')]
      : [added(`${value}.`), ...form.copy(link.property)];
  }
  const given = link.arguments.flatMap((each) => [...form.expression(each), added(', ')]);
  return [added(`${value}(`), ...given, added(')')];
}
