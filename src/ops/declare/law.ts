import type { DType } from '../../base/dtype.js';
import type { Attributes } from '../../base/attributes/schema.js';
import type { Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { Declaration, SampleArray } from './declare.js';

/**
 * Algebraic law of an operator: a rewrite that makes a program smaller or cheaper. A law must hold bit by
 * bit, for NaN (whose payload does not count), infinities, both zeros, wrapping integers and extents of 0 and
 * 1, since compiling must not change a result. It need not hold for gradients: programs are simplified after
 * differentiation.
 */
export interface Law<A = Attributes> {
  /** Unique within the operator. */
  readonly name: string;
  /** The equation in one line of mathematics or NumPy, with its condition. */
  readonly law: string;
  /** Calls that the law rewrites; the law tests run them. */
  readonly cases: readonly LawCase[];
  /**
   * The equal value, built from other operators' calls and of the same type; null where the law does not
   * apply.
   */
  apply(call: LawCall<A>): Value | null;
}

/** A call whose operands are already simplified. */
export interface LawCall<A = Attributes> {
  readonly inputs: readonly Value[];
  readonly attributes: A;
  /** The type of the only result. */
  readonly type: TensorType;
}

/** A small program; the law applies to its last call. */
export interface LawCase {
  readonly arrays: readonly SampleArray[];
  /** Dtypes in which arrays that are not bool are tested; unchanged when absent. */
  readonly dtypes?: readonly DType[];
  build(...values: readonly Value[]): Value;
}

/** A case for declarations: `example([tensor(['n'])], (x) => neg(neg(x)), floats)`. */
export function example(
  arrays: readonly SampleArray[],
  build: LawCase['build'],
  dtypes?: readonly DType[],
): LawCase {
  return { arrays, build, ...(dtypes !== undefined && { dtypes }) };
}

export const floatDTypes: readonly DType[] = ['float32', 'float64', 'float16', 'bfloat16'];
export const integerDTypes: readonly DType[] = ['int8', 'uint8', 'int32', 'int64'];
export const numericDTypes: readonly DType[] = [...floatDTypes, ...integerDTypes];

/** The call that defines a value, if it is one of this operator. */
export function callOf(
  value: Value,
  { declaration }: { readonly declaration: Declaration },
): Pick<LawCall, 'inputs' | 'attributes'> | null {
  const node = value.program.node(value.node);
  if (node.kind !== 'call' || node.op !== declaration) return null;
  return { inputs: value.program.operands(value.node), attributes: node.attributes };
}

/** Applies a rule of a commutative operator to both orders of the operands. */
export function inEitherOrder(
  [x, y]: readonly Value[],
  rule: (x: Value, y: Value) => Value | null,
): Value | null {
  return rule(x, y) ?? rule(y, x);
}
