import type { Value } from '../../../ir/program.js';
import type { ImportedNode, ImportRule } from '../node.js';

/** Rules by operator name. */
export type ImportRules = Readonly<Record<string, ImportRule>>;

/** A rule for element types that Kaon has. */
export function rule(run: ImportRule['run']): ImportRule {
  return { run };
}

/** A rule for any element type: it moves elements, or handles carriers itself. */
export function anyElement(run: ImportRule['run']): ImportRule {
  return { run, foreign: true };
}

/** One operand, one result, no attributes. */
export function unaryRule(f: (x: Value) => Value): ImportRule {
  return rule((node) => f(node.value(0)));
}

/** A unary rule that only moves elements. */
export function moves(f: (x: Value, node: ImportedNode) => Value): ImportRule {
  return anyElement((node) => node.like(0, f(node.value(0), node)));
}
