import type { Dim } from '../../base/dim/index.js';
import type { DType } from '../../base/dtype.js';
import type { Attributes } from '../../base/attributes/schema.js';
import type { Program } from '../../ir/program.js';
import type { Shape, Tensor, TensorType } from '../../ir/types.js';
import type { DecomposeContext } from './lowering.js';

/**
 * ONNX facet of an operator. This file has types only: the exporter is in `formats/onnx/export`, and programs
 * that never export load none of it.
 *
 * A name: the ONNX operator with the same result for the same operands, where it accepts their dtypes.
 * `composed`: other operators. A function: nodes; null where the operator's lowering suffices.
 *
 * An operator without the facet is written by its lowering: as the operators it decomposes into, as a view,
 * as its body, or, where each element is an expression, as nodes for that expression.
 */
export type OnnxMapping<A = Attributes> =
  | string
  | OnnxComposition<A>
  | ((call: OnnxCall<A>) => OnnxValue | readonly OnnxValue[] | OnnxComposition<A> | null);

/** An expansion into other operators, for an operator whose lowering is a kernel. */
export interface OnnxComposition<A = Attributes> {
  composed<T extends Tensor>(context: DecomposeContext<T, A>): readonly T[];
}

/** Element type of a value being written: a dtype, or unsigned integers of which only the bits matter. */
export type OnnxDType = DType | 'uint32' | 'uint64';

/** A value of the model being written. */
export interface OnnxValue {
  readonly name: string;
  readonly dtype: OnnxDType;
}

/** One call to be written. */
export interface OnnxCall<A = Attributes> {
  readonly onnx: OnnxWriter;
  readonly inputs: readonly OnnxValue[];
  readonly inputTypes: readonly TensorType[];
  readonly outputTypes: readonly TensorType[];
  readonly attributes: A;
  readonly regions: readonly Program[];
}

/** Whole numbers and lists of them are integers; strings are strings. */
export type OnnxAttribute = number | string | readonly number[] | { readonly float: number };

export type OnnxAttributes = Readonly<Record<string, OnnxAttribute>>;

/**
 * Appends nodes. Where an ONNX operator (or common runtimes) does not accept the dtype of its operands, these
 * are widened before it and its results narrowed after it, as Kaon computes narrow elements, too.
 */
export interface OnnxWriter {
  /** The opset that is written. */
  readonly opset: number;
  /** A node with one result, by default of the first operand's dtype. Absent optional operands are null. */
  node(
    type: string,
    operands: readonly (OnnxValue | null)[],
    attributes?: OnnxAttributes,
    dtype?: OnnxDType,
  ): OnnxValue;
  /** A node with several results; null stands for the first operand's dtype. */
  nodes(
    type: string,
    operands: readonly (OnnxValue | null)[],
    attributes: OnnxAttributes,
    dtypes: readonly (OnnxDType | null)[],
  ): readonly OnnxValue[];
  /** A constant of rank 0, shared by its uses. */
  scalar(dtype: OnnxDType, value: number | bigint): OnnxValue;
  /** Integers, int64 of rank 1. */
  ints(values: readonly number[]): OnnxValue;
  /** Sizes, int64 of rank 1: a constant where all are numbers. */
  sizes(dims: readonly Dim[]): OnnxValue;
  /** One size of rank 0, by default int64. */
  size(dim: Dim, dtype?: OnnxDType): OnnxValue;
  /** ONNX's Cast, which equals Kaon's unless a float becomes an integer. */
  cast(x: OnnxValue, dtype: OnnxDType): OnnxValue;
  reshape(x: OnnxValue, shape: Shape): OnnxValue;
  /** Declares a value as the source of the symbols in a shape, where that is not the result of the call. */
  learn(value: OnnxValue, shape: Shape): void;
  transpose(x: OnnxValue, order: readonly number[]): OnnxValue;
  /** One of the `Reduce` operators over axes that are not negative. */
  reduce(type: string, x: OnnxValue, axes: readonly number[], keepdims: boolean): OnnxValue;
  /**
   * Iterates along an axis of arrays of one shape, backwards if `reverse`: `step` returns the state after the
   * elements at each index, and the part of it that is collected. States have that shape without the axis.
   */
  scan(
    along: { readonly axis: number; readonly reverse: boolean; readonly shape: Shape },
    initial: readonly OnnxValue[],
    arrays: readonly OnnxValue[],
    step: (
      states: readonly OnnxValue[],
      elements: readonly OnnxValue[],
    ) => { readonly states: readonly OnnxValue[]; readonly kept: OnnxValue },
  ): OnnxValue;
  /** Aborts the export: the operator cannot be expressed. */
  unsupported(problem: string, advice?: string): never;
}
