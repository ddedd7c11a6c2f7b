import type { Tensor } from '../ir/types.js';
import type { DefaultTensor, Input } from './declare.js';

/** `f(x)`, any shape; the result has the shape of `x`. */
export type Unary = <T extends Tensor = DefaultTensor>(x: Input<T>) => T;

/** `f(x, y)`; shapes broadcast like NumPy's. */
export type Binary = <T extends Tensor = DefaultTensor>(x: Input<T>, y: Input<T>) => T;

/** One axis or several; negative ones count from the end. Absent or null means all. */
export type Axes = number | readonly number[] | null;

export interface ReductionOptions {
  /** Keep the reduced axes with size 1. Default false. */
  readonly keepdims?: boolean;
}

/** `f(x, axis?, { keepdims })`. */
export type Reduction = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  axis?: Axes,
  options?: ReductionOptions,
) => T;
