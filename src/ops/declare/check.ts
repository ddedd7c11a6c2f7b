import { type Dim, isStatic } from '../../base/dim/index.js';
import type { HostArray } from '../../base/dtype.js';
import type { KaonError } from '../../base/errors.js';
import type { Attributes } from '../../base/attributes/schema.js';
import type { Shape, TensorType } from '../../ir/types.js';

/** The integers from `least` to `most`, where there is one, and `except`. */
export interface Accepted {
  readonly least: Dim;
  readonly most: Dim | null;
  readonly except: number | null;
}

/** An element that is not accepted. */
export interface Foreign {
  readonly element: number;
  /** Its row-major position. */
  readonly at: number;
  /** The shape of the operand, with symbols where sizes are not known. */
  readonly shape: Shape;
  /** The greatest element that would be accepted; null where there is none. */
  readonly most: number | null;
}

/**
 * Says which elements make sense, above all positions within an axis. A kernel cannot throw, so it must stay in
 * bounds whatever it reads: elements are checked before it runs, or by what runs beside it.
 */
export interface ElementCheck<A = Attributes> {
  /** The operand that is looked at. */
  readonly operand: number;
  /** What its elements may be, in calls on operands of these types; null for any. */
  accepts(types: readonly TensorType[], attributes: A): Accepted | null;
  /** What is wrong with an element. */
  refusal(foreign: Foreign, attributes: A): KaonError;
}

/**
 * By result, the number of elements along an axis that its elements are positions of, from 0 on; null for results
 * that are no positions.
 */
export type Positions<A = Attributes> = (
  types: readonly TensorType[],
  attributes: A,
) => readonly (Dim | null)[];

/**
 * Refuses elements, row-major, of the operand that a check looks at.
 *
 * @param types Those of the operands, with numbers for sizes; where what is accepted depends on others, nothing is
 * refused.
 * @throws what the check says of the first element that is not accepted.
 */
export function refuseElements<A = Attributes>(
  check: ElementCheck<A>,
  elements: HostArray,
  types: readonly TensorType[],
  attributes: A,
): void {
  const accepted = check.accepts(types, attributes);
  if (accepted === null) return;
  const { least, most, except } = accepted;
  if (!isStatic(least) || (most !== null && !isStatic(most))) return;
  const limit = most ?? Infinity;
  for (let at = 0; at < elements.length; at++) {
    const element = Number(elements[at]);
    if ((element >= least && element <= limit) || element === except) continue;
    throw check.refusal({ element, at, shape: types[check.operand].shape, most }, attributes);
  }
}
