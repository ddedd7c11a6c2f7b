import { type Dim, isStatic } from '../../base/dim/index.js';
import type { HostArray } from '../../base/dtype.js';
import type { KaonError } from '../../base/errors.js';
import type { Attributes } from '../../base/attributes/schema.js';
import type { Shape, TensorType } from '../../ir/types.js';

/** The integers from `least` to `most`, if any, and `except`. */
export interface AcceptedElements {
  readonly least: Dim;
  readonly most: Dim | null;
  readonly except: number | null;
}

/** An element that is not accepted. */
export interface RefusedElement {
  readonly element: number;
  /** Its row-major position. */
  readonly at: number;
  /** The shape of the operand, with symbols where sizes are not known. */
  readonly shape: Shape;
  /** The greatest accepted element; null where there is none. */
  readonly most: number | null;
}

/**
 * Constraint on the elements of an operand, above all on indices within an axis. A kernel cannot throw, so it
 * must stay in bounds for any elements; they are checked before it runs, or by a watch during the run.
 */
export interface ElementCheck<A = Attributes> {
  /** The operand that is checked. */
  readonly operand: number;
  /** Accepted elements in calls on operands of these types; null for any. */
  accepts(types: readonly TensorType[], attributes: A): AcceptedElements | null;
  /** The error for an element. */
  refusal(foreign: RefusedElement, attributes: A): KaonError;
  /** True if calls are roots of liveness: they refuse although nobody reads their results. Default false. */
  readonly isRoot?: boolean;
  /** The problem where only the presence of a refused element is known. Default: told by what is accepted. */
  problem?(attributes: A): string;
  /** The value to throw in place of an error; null for the error. */
  thrown?(attributes: A, error: KaonError): { readonly value: unknown } | null;
}

/**
 * By result, the extent of the axis that its elements index, from 0 on; null for results that are not
 * indices.
 */
export type Positions<A = Attributes> = (
  types: readonly TensorType[],
  attributes: A,
) => readonly (Dim | null)[];

/**
 * Refuses elements of the checked operand, given in row-major order.
 *
 * @param types Types of the operands, with static sizes; where acceptance depends on unknown sizes, nothing
 * is refused.
 * @throws the check's error for the first element that is not accepted.
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
