import { InternalError } from '../../base/errors.js';
import type { Operator } from '../../ir/program.js';
import type { Declaration } from './declare.js';

/** The full declaration behind a program's operator. Passes ask its facets, never its name. */
export function declarationOf(op: Operator): Declaration {
  if (!('lowering' in op && 'gradient' in op)) {
    throw new InternalError(`operator ${op.name} was not declared by operator()`);
  }
  return op as Declaration;
}
