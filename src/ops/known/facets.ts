import type { Dim } from '../../base/dim/index.js';
import type { Attributes } from '../../base/attributes/schema.js';

/** What is known of a small array of integers: its elements in row-major order, null for what is not known. */
export interface KnownArray {
  readonly shape: readonly number[];
  readonly elements: readonly (Dim | null)[];
}

/** The elements of the only result, given what is known of the operands. */
export type Known<A = Attributes> = (context: {
  readonly inputs: readonly KnownArray[];
  readonly attributes: A;
}) => readonly (Dim | null)[];

/**
 * What an elementwise operator makes of integers that are sizes, or numbers that go with them; null where that is
 * no size. For those whose expressions take more than the ranges of sizes to decide.
 */
export type OnSizes = (sizes: readonly Dim[]) => Dim | null;
