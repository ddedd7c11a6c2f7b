import { InternalError } from '../../base/errors.js';
import type { Operator } from '../../ir/operator.js';
import type { Declaration } from './declare.js';

/** The declaration of a program's operator. Passes ask for facets, never for names. */
export function declarationOf(op: Operator): Declaration {
  if (!('lowering' in op && 'gradient' in op)) {
    throw new InternalError(`operator ${op.name} was not declared by operator()`);
  }
  return op as Declaration;
}
