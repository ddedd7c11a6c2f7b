import type { Value } from '../../../ir/program.js';
import type { ImportedNode, Rule } from '../node.js';

/** Rules by operator name. */
export type Rules = Readonly<Record<string, Rule>>;

/** A rule for element types that Kaon has. */
export function rule(run: Rule['run']): Rule {
  return { run };
}

/** A rule for any element type: it moves elements, or handles carriers itself. */
export function anyElement(run: Rule['run']): Rule {
  return { run, foreign: true };
}

/** One operand, one result, no attributes. */
export function unary(f: (x: Value) => Value): Rule {
  return rule((node) => f(node.value(0)));
}

/** A unary rule that only moves elements. */
export function moves(f: (x: Value, node: ImportedNode) => Value): Rule {
  return anyElement((node) => node.like(0, f(node.value(0), node)));
}
