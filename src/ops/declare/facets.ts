import { passedSizes } from '../../base/attributes/attribute.js';
import type { Dim } from '../../base/dim/index.js';
import { InternalError } from '../../base/errors.js';
import { someCall } from '../../ir/all-calls.js';
import type { Operator } from '../../ir/operator.js';
import type { CallNode, Program } from '../../ir/program.js';
import type { Declaration } from './declare.js';

/** The declaration of a program's operator. Passes ask for facets, never for names. */
export function declarationOf(op: Operator): Declaration {
  if (!('lowering' in op && 'gradient' in op)) {
    throw new InternalError(`operator ${op.name} was not declared by operator()`);
  }
  return op as Declaration;
}

/** The sizes that a call passes to each of its regions that takes some. */
export function sizesPassedBy({
  op,
  attributes,
}: Pick<CallNode, 'op' | 'attributes'>): readonly Dim[] {
  return op.attributes['sizes'] === passedSizes ? (attributes['sizes'] as readonly Dim[]) : [];
}

// Operators of tests have no declarations.
const isRoot = (op: Operator): boolean => (op as Partial<Declaration>).check?.isRoot === true;

/** True if an operator, or a call in one of its regions, refuses elements although nobody reads its results. */
export function isRootCall(op: Operator, regions: readonly Program[]): boolean {
  return isRoot(op) || regions.some(hasRootCall);
}

/** True if a finished program, or a region in it, has such a call. */
export const hasRootCall: (program: Program) => boolean = someCall(({ op }) => isRoot(op));
