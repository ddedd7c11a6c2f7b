import type { Attributes } from '../../../base/attributes/schema.js';
import { isStatic } from '../../../base/dim/index.js';
import type { Program } from '../../../ir/program.js';
import type { Shape, TensorType } from '../../../ir/types.js';
import type { HloValue } from '../language/types.js';
import type { HloWriter } from '../language/writer.js';

/** One call to be written. */
export interface HloCall<A = Attributes> {
  readonly hlo: HloWriter;
  readonly inputs: readonly HloValue[];
  readonly inputTypes: readonly TensorType[];
  readonly outputTypes: readonly TensorType[];
  readonly attributes: A;
  readonly regions: readonly Program[];
  /** Inputs that the program computes and that no later call reads. */
  readonly spent: readonly HloValue[];
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
  'padded; recurrent layers with lengths have one in graphs of graphFor';

/**
 * The type itself, whose sizes follow from those of the inputs.
 * @throws UnsupportedError for sizes that only a run decides.
 */
export function knownType(hlo: HloWriter, type: TensorType): TensorType {
  return hlo.knows(type.shape) ? type : refuseSize(hlo, type.shape);
}

/** Refuses sizes that the data decides. */
export function refuseSize(hlo: HloWriter, shape: Shape): never {
  return hlo.unsupported(`its result has sizes that only the data decides: [${shape.map(String).join(', ')}]`, advice); // prettier-ignore
}

/**
 * Sizes as numbers, for what StableHLO can write only of known ones.
 * @throws UnsupportedError for symbolic sizes, naming the static form.
 */
export function staticSizes(hlo: HloWriter, shape: Shape): readonly number[] {
  if (shape.every(isStatic)) return shape;
  return hlo.unsupported(
    `it needs known sizes, not [${shape.map(String).join(', ')}]`,
    'capture the graph for one size: leave that axis out of dynamic',
  );
}
