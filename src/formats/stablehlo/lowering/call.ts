import type { Attributes } from '../../../base/attributes/schema.js';
import { isStatic } from '../../../base/dim/index.js';
import type { DType } from '../../../base/dtype.js';
import type { Program } from '../../../ir/program.js';
import type { TensorType } from '../../../ir/types.js';
import type { HloValue } from '../language/types.js';
import type { HloWriter } from '../language/writer.js';

/** Type of an operand or a result, with sizes known. */
export interface SizedType {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/** One call to be written. */
export interface HloCall<A = Attributes> {
  readonly hlo: HloWriter;
  readonly inputs: readonly HloValue[];
  readonly inputTypes: readonly SizedType[];
  readonly outputTypes: readonly SizedType[];
  readonly attributes: A;
  readonly regions: readonly Program[];
}

/** Writes a call whose lowering does not say how, or where an operation does better. */
export type HloRule<A = Attributes> = (call: HloCall<A>) => HloValue | readonly HloValue[] | null;

/** Writes a program on operands, and returns its outputs. */
export type WriteProgram = (
  hlo: HloWriter,
  program: Program,
  operands: readonly HloValue[],
) => readonly HloValue[];

const advice =
  'give the static form: a mask as weights instead of booleanMask or nonzero, whileLoop with maxIterations and ' +
  'padded, foreach with a count';

/**
 * The type with its sizes known.
 * @throws UnsupportedError for sizes that only a run decides.
 */
export function typeOfKnownSizes(hlo: HloWriter, { dtype, shape }: TensorType): SizedType {
  if (shape.every(isStatic)) return { dtype, shape };
  return hlo.unsupported(`its result has sizes that only the data decides: [${shape.map(String).join(', ')}]`, advice); // prettier-ignore
}
