import type { Declaration } from '../../../ops/declare/declare.js';
import type { HloRule } from '../lowering/call.js';
import { adjointRules } from './adjoint.js';
import { hloElementwiseRules } from './elementwise.js';
import { movementRules } from './movement.js';
import { orderRules } from './order.js';
import { productRules } from './product.js';
import { scanRules } from './scan.js';
import { scatterRules } from './scatter.js';
import { windowRules } from './window.js';

const rules: ReadonlyMap<Declaration, HloRule> = new Map([
  ...adjointRules,
  ...hloElementwiseRules,
  ...movementRules,
  ...orderRules,
  ...productRules,
  ...scanRules,
  ...scatterRules,
  ...windowRules,
]);

/** The rule of an operator; none where its lowering says all. */
export function hloRuleFor(declaration: Declaration): HloRule | undefined {
  return rules.get(declaration);
}
