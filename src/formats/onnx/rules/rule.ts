import type { Value } from '../../../ir/program.js';
import type { ImportedNode, Rule } from '../node.js';

/** Rules by the names of operators. */
export type Rules = Readonly<Record<string, Rule>>;

/** For element types of Kaon's own. */
export function rule(run: Rule['run']): Rule {
  return { run };
}

/** For any element type: it moves elements, or sees to their carriers itself. */
export function anyElement(run: Rule['run']): Rule {
  return { run, foreign: true };
}

/** One operand, one result, attributes ignored. */
export function unary(f: (x: Value) => Value): Rule {
  return rule((node) => f(node.value(0)));
}

/** One operand whose elements are moved and nothing else. */
export function moves(f: (x: Value, node: ImportedNode) => Value): Rule {
  return anyElement((node) => node.like(0, f(node.value(0), node)));
}
