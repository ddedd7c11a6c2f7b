import { type Dim, substituteDim } from '../../base/dim/index.js';
import type { HostArray } from '../../base/dtype.js';
import { inContext, type KaonError } from '../../base/errors.js';
import { mapAttributeDims } from '../../base/attributes/schema.js';
import { substituteType } from '../../ir/bind.js';
import type { CallNode } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { type RefusedElement, refuseElements } from '../../ops/declare/check.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { detailsOf } from './evaluate.js';
import type { Watched } from './watch/report.js';

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
    throw inCapturedCode(error, call, 'in captured code');
  }
}

/**
 * The error for an element that a captured call does not accept, or what the user throws in its place.
 *
 * @param iterations Those of the loops around the call, the innermost first.
 */
export function foreignInCapturedCode(
  { call, loops }: Watched,
  foreign: RefusedElement,
  iterations: readonly number[],
): unknown {
  const error = declarationOf(call.op).check!.refusal(foreign, call.attributes);
  const around = loops.map(({ op }, k) => `iteration ${iterations[k]} of ${op.name}`).toReversed();
  return inCapturedCode(error, call, ['in captured code', ...around].join(', '));
}

/** The error for an element that a call does not accept, or what the user throws in its place. */
export function foreignElement(call: CallNode, foreign: RefusedElement): unknown {
  return thrownFor(call, declarationOf(call.op).check!.refusal(foreign, call.attributes));
}

function inCapturedCode(error: unknown, call: CallNode, where: string): unknown {
  return thrownFor(call, inContext(error, where, detailsOf(call)));
}

/** The value that the user throws in place of an error, where there is one. */
function thrownFor({ op, attributes }: CallNode, error: KaonError): unknown {
  const thrown = declarationOf(op).check!.thrown?.(attributes, error) ?? null;
  return thrown === null ? error : thrown.value;
}
