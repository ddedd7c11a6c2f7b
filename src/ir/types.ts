import type { Dim } from '../base/dim/index.js';
import type { DType, HostArray } from '../base/dtype.js';

export type Shape = readonly Dim[];

/** What is known of an array before it exists. */
export interface TensorType {
  readonly dtype: DType;
  readonly shape: Shape;
}

/** What operators work on: symbolic values of a program, and the arrays of the front floor. */
export abstract class Tensor {
  /** The shape here may hold symbols. */
  abstract readonly type: TensorType;
}

/** A constant of a program: its type has a static shape, its data is in row-major order. */
export interface ConstantData {
  readonly type: { readonly dtype: DType; readonly shape: readonly number[] };
  readonly data: HostArray;
}

/** An array that is read: the port of the node where the edge starts. In the order of the operands. */
export interface DataEdge {
  readonly kind: 'data';
  readonly port: number;
}

/** A size that is spoken of, from the call whose data decides it. Made by the program, behind the operands. */
export interface SizeEdge {
  readonly kind: 'size';
  readonly name: string;
}

export type Edge = DataEdge | SizeEdge;
