import type { Attributes } from '../../../base/attributes/schema.js';
import type { Declaration } from '../../../ops/declare/declare.js';
import type { HloRule } from '../lowering/call.js';

/** A row of the table of rules. */
export type RuleEntry = readonly [Declaration, HloRule];

/** Attaches a rule to an operator. The type of its attributes is that of the operator's declaration. */
export function hloRule<A = Attributes>(
  { declaration }: { readonly declaration: Declaration },
  write: HloRule<A>,
): RuleEntry {
  // Calls of this operator have attributes of this type, as its declaration has checked.
  return [declaration, write as HloRule];
}
