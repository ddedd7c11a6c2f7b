import type { Dim } from '../../base/dim/index.js';
import type { Attributes } from '../../base/attributes/schema.js';

/** A small integer array: its elements in row-major order, null for unknown ones. */
export interface KnownArray {
  readonly shape: readonly number[];
  readonly elements: readonly (Dim | null)[];
}

/** The elements of the only result, given those of the operands. */
export type Known<A = Attributes> = (context: {
  readonly inputs: readonly KnownArray[];
  readonly attributes: A;
}) => readonly (Dim | null)[];

/**
 * Value of an elementwise operator on sizes, or on numbers beside sizes; null when it is not a size. For
 * operators whose expressions are not decided by the ranges of sizes.
 */
export type OnSizes = (sizes: readonly Dim[]) => Dim | null;
