import type { Dim } from '../../base/dim/index.js';
import type { DType } from '../../base/dtype.js';
import type { Attributes } from '../../base/attributes/schema.js';
import type { Program } from '../../ir/program.js';
import type { Shape, Tensor, TensorType } from '../../ir/types.js';
import type { DecomposeContext } from './lowering.js';

/**
 * How an operator is written in ONNX. There are types here only: what writes is in `formats/onnx/export`,
 * and who never exports loads none of it.
 *
 * A name: the operator of ONNX that gives the same for the same operands, where it takes such elements.
 * `composed`: other operators. A function: nodes; null where the operator's lowering says it well enough.
 *
 * An operator that says nothing is written as what its lowering says: in the operators it decomposes into,
 * as a view, as its body, or, where each element is an expression, as nodes for that expression.
 */
export type OnnxMapping<A = Attributes> =
  | string
  | OnnxComposition<A>
  | ((call: OnnxCall<A>) => OnnxValue | readonly OnnxValue[] | OnnxComposition<A> | null);

/** A call in other operators, for a lowering that is a kernel of its own. */
export interface OnnxComposition<A = Attributes> {
  composed<T extends Tensor>(context: DecomposeContext<T, A>): readonly T[];
}

/** What elements are while a model is written: a dtype, or integers of which only the bits count. */
export type OnnxDType = DType | 'uint32' | 'uint64';

/** A value of the model that is being written. */
export interface OnnxValue {
  readonly name: string;
  readonly dtype: OnnxDType;
}

/** One call of an operator that is to be written. */
export interface OnnxCall<A = Attributes> {
  readonly onnx: OnnxWriter;
  readonly inputs: readonly OnnxValue[];
  readonly inputTypes: readonly TensorType[];
  readonly outputTypes: readonly TensorType[];
  readonly attributes: A;
  readonly regions: readonly Program[];
}

/** Whole numbers and lists of them are integers; text is text. */
export type OnnxAttribute = number | string | readonly number[] | { readonly float: number };

export type OnnxAttributes = Readonly<Record<string, OnnxAttribute>>;

/**
 * Appends nodes. Where an operator of ONNX does not take the dtype of its operands (or common runtimes do
 * not), they are widened before it and its results narrowed behind it, which is how Kaon computes narrow
 * elements, too.
 */
export interface OnnxWriter {
  /** The version of ONNX's operators that is written. */
  readonly opset: number;
  /**
   * A node with one result, of the first operand's dtype unless another is given. Operands that are
   * optional and absent are null.
   */
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
  /** One element everywhere it is needed; rank 0. */
  scalar(dtype: OnnxDType, value: number | bigint): OnnxValue;
  /** Integers, int64 of rank 1. */
  ints(values: readonly number[]): OnnxValue;
  /** Sizes, int64 of rank 1: a constant where all are numbers. */
  sizes(dims: readonly Dim[]): OnnxValue;
  /** One size as a number of rank 0, int64 unless said. */
  size(dim: Dim, dtype?: OnnxDType): OnnxValue;
  /** ONNX's conversion, which is Kaon's wherever no float becomes an integer. */
  cast(x: OnnxValue, dtype: OnnxDType): OnnxValue;
  reshape(x: OnnxValue, shape: Shape): OnnxValue;
  /** Says of what value the symbols in a shape are sizes, where that is not the result of the call. */
  learn(value: OnnxValue, shape: Shape): void;
  transpose(x: OnnxValue, order: readonly number[]): OnnxValue;
  /** One of the `Reduce` operators over axes that are not negative. */
  reduce(type: string, x: OnnxValue, axes: readonly number[], keepdims: boolean): OnnxValue;
  /**
   * Goes along an axis of arrays of one shape, backwards if `reverse`: `step` gives the state after the
   * elements at each position, and what is kept of it. States have that shape without the axis.
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
  /** Ends the export: this operator cannot say what is asked for. */
  unsupported(problem: string, advice?: string): never;
}
