import { type Dim, sameShape } from '../base/dim/index.js';
import type { DType, HostArray } from '../base/dtype.js';
import { MadeByFunctions } from '../base/made.js';

export type Shape = readonly Dim[];

/** Static type of an array. */
export interface TensorType {
  readonly dtype: DType;
  readonly shape: Shape;
}

export function sameType(a: TensorType, b: TensorType): boolean {
  return a === b || (a.dtype === b.dtype && sameShape(a.shape, b.shape));
}

/** Operand of an operator: a symbolic value of a program, or an array of the front floor. */
export abstract class Tensor extends MadeByFunctions {
  /** @internal May contain symbols. */
  abstract readonly type: TensorType;
}

/** A constant of a program: static shape, data in row-major order. */
export interface ConstantData {
  readonly type: { readonly dtype: DType; readonly shape: readonly number[] };
  readonly data: HostArray;
}

/** Data dependence, at the position of an operand: the port of the node where the edge starts. */
export interface DataEdge {
  readonly kind: 'data';
  readonly port: number;
}

/** Dependence on a size that the data of another call decides. Added by the program, after the operands. */
export interface SizeEdge {
  readonly kind: 'size';
  readonly name: string;
}

export type Edge = DataEdge | SizeEdge;
