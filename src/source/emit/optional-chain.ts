import type * as t from '@babel/types';
import { contains, unwrapped } from '../syntax/walk.js';
import { isChangingMethod, memberName } from '../syntax/changing-methods.js';
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

/** Code of parts of a chain. */
export interface ChainParts {
  readonly index: (node: t.Node) => readonly Piece[];
  /** The receiver of a call of a method that may change it. */
  readonly receiver: (
    call: t.OptionalCallExpression,
    object: t.Node,
    code: readonly Piece[],
  ) => readonly Piece[];
}

/** The code behind a link, with a name for the value before it. `call`: the node is its callee. */
export function afterLink(
  form: Form,
  node: t.Node,
  link: OptionalChain,
  value: string,
  parts: ChainParts,
  call: t.Node | null = null,
): readonly Piece[] {
  const changed = call?.type === 'OptionalCallExpression' && isChangingMethod(memberName(node)) ? call : null; // prettier-ignore
  if (node !== link) {
    return form.copy(node, (child) => {
      if (contains(child, link)) {
        const isCallee = node.type === 'OptionalCallExpression' && child === node.callee;
        const code = afterLink(form, child, link, value, parts, isCallee ? node : null);
        return changed === null ? code : parts.receiver(changed, child, code);
      }
      const isIndex = node.type === 'OptionalMemberExpression' && node.computed && child === node.property; // prettier-ignore
      return isIndex ? parts.index(child) : form.expression(child);
    });
  }
  if (link.type === 'OptionalMemberExpression') {
    const object = changed === null ? [added(value)] : parts.receiver(changed, link.object, [added(value)]); // prettier-ignore
    return link.computed
      ? [...object, added('['), ...parts.index(link.property), added(']')]
      : [...object, added('.'), ...form.copy(link.property)];
  }
  const given = link.arguments.flatMap((each) => [...form.expression(each), added(', ')]);
  return [added(`${value}(`), ...given, added(')')];
}
