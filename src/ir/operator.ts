import type { Attributes, AttributeSchema } from '../base/attributes/schema.js';
import type { Bounds, Dim } from '../base/dim/index.js';
import type { Program } from './program.js';
import type { Require } from './requirement.js';
import type { TensorType } from './types.js';

/** The part of an operator's declaration that programs need. The declarations of `ops/` are richer. */
export interface Operator {
  readonly name: string;
  readonly attributes: AttributeSchema;
  /**
   * Operands that, with the attributes, determine the fresh sizes of `infer`: calls that agree in them share
   * these sizes. Absent when nothing is shared.
   */
  readonly sizedBy?: readonly number[];
  /** The result types; throws a typed error when the operands do not fit. */
  infer(context: InferContext): readonly TensorType[];
}

/** Static bounds of a size that the data decides. */
export interface SizeBounds extends Partial<Bounds> {
  /** Upper bound in symbols, where numbers alone cannot express it. */
  readonly most?: Dim;
}

export interface InferContext {
  readonly inputs: readonly TensorType[];
  readonly attributes: Attributes;
  readonly regions: readonly Program[];
  /** A new dimension that only the data decides; bound at run time. */
  fresh(hint: string, bounds?: SizeBounds): Dim;
  /**
   * Demands a condition on sizes. One that numbers or the ranges of symbols decide is checked at once; any
   * other becomes a requirement of the program, checked before it runs.
   */
  readonly require: Require;
}
