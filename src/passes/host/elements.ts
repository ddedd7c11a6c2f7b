import { type Dim, substituteDim } from '../../base/dim/index.js';
import type { HostArray } from '../../base/dtype.js';
import { inContext } from '../../base/errors.js';
import { mapAttributeDims } from '../../base/attributes/schema.js';
import { substituteType } from '../../ir/bind.js';
import type { CallNode } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { type RefusedElement, refuseElements } from '../../ops/declare/check.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { detailsOf } from './evaluate.js';

/**
 * Refuses elements of the operand that the check of a captured call looks at.
 *
 * @param types Those of its operands. @param sizes The values of the symbols in these and in its attributes.
 * @throws what eager code throws, with the line of the call.
 */
export function refuseInCapturedCode(
  call: CallNode,
  elements: HostArray,
  types: readonly TensorType[],
  sizes: ReadonlyMap<string, Dim>,
): void {
  const { op, attributes } = call;
  const isStatic = sizes.size === 0;
  const actual = isStatic ? types : types.map((type) => substituteType(type, sizes));
  const known = isStatic
    ? attributes
    : mapAttributeDims(op.attributes, attributes, (dim) => substituteDim(dim, sizes));
  try {
    refuseElements(declarationOf(op).check!, elements, actual, known);
  } catch (error) {
    throw inCapturedCode(error, call);
  }
}

/** The error for an element that a captured call does not accept. */
export function foreignInCapturedCode(call: CallNode, foreign: RefusedElement): Error {
  return inCapturedCode(foreignElement(call, foreign), call);
}

/** The error for an element that a call does not accept. */
export function foreignElement({ op, attributes }: CallNode, foreign: RefusedElement): Error {
  return declarationOf(op).check!.refusal(foreign, attributes);
}

function inCapturedCode(error: unknown, call: CallNode): Error {
  return inContext(error, 'in captured code', detailsOf(call));
}
