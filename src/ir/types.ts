import type { Dim } from '../base/dim/index.js';
import type { DType, HostArray } from '../base/dtype.js';
import { MadeByFunctions } from '../base/made.js';

export type Shape = readonly Dim[];

/** What is known of an array before it exists. */
export interface TensorType {
  readonly dtype: DType;
  readonly shape: Shape;
}

/** What operators work on: symbolic values of a program, and the arrays of the front floor. */
export abstract class Tensor extends MadeByFunctions {
  /** @internal The shape here may hold symbols. */
  abstract readonly type: TensorType;
}

/** A constant of a program: its type has a static shape, its data is in row-major order. */
export interface ConstantData {
  readonly type: { readonly dtype: DType; readonly shape: readonly number[] };
  readonly data: HostArray;
}
