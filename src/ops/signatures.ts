import type { Dim } from '../base/dim/index.js';
import { Tensor } from '../ir/types.js';
import type { DefaultTensor, Input } from './declare/declare.js';
import { sizesFromElements } from './dynamic/extents.js';

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

/**
 * A shape: extents, or one extent for rank 1. Extents may be symbolic. An integer array gives them as its
 * elements; in captured code these are then sizes that only the data decides.
 */
export type ShapeArgument = Dim | readonly Dim[] | Tensor;

/**
 * Key under which a list of numbers carries the dimensions that it is the sizes of: a shape that captured
 * code passes on as a whole stays symbolic.
 */
export const dimensions: unique symbol = Symbol('dimensions');

/** The list behind a shape argument. */
export function shapeList(shape: ShapeArgument): readonly Dim[] {
  if (shape instanceof Tensor) return sizesFromElements(shape);
  // An invalid shape is refused later, as an attribute.
  const symbolic = (shape as { readonly [dimensions]?: readonly Dim[] } | undefined)?.[dimensions];
  if (symbolic !== undefined) return symbolic;
  return Array.isArray(shape) ? shape : [shape as Dim];
}

/** The list behind one axis or several; null or undefined, which mean all, become null. */
export function axisList(axis: Axes | undefined): readonly number[] | null {
  return typeof axis === 'number' ? [axis] : (axis ?? null);
}
