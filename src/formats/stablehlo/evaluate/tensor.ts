import { allocate, type DType, type HostArray } from '../../../base/dtype.js';
import { readElement, writeElement } from '../../../base/element.js';
import { countOf } from '../language/types.js';

/** A tensor of an evaluated module, row-major. */
export interface HloTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: HostArray;
}

/** A tensor whose elements are computed from their index. */
export function tabulate(
  dtype: DType,
  shape: readonly number[],
  element: (index: readonly number[], position: number) => number | bigint,
): HloTensor {
  const data = allocate(dtype, countOf(shape));
  forEachIndex(shape, (index, position) =>
    writeElement(dtype, data, position, element(index, position)),
  );
  return { dtype, shape, data };
}

/** Calls with every index in row-major order. */
export function forEachIndex(
  shape: readonly number[],
  visit: (index: readonly number[], position: number) => void,
): void {
  const count = countOf(shape);
  const index = shape.map(() => 0);
  for (let position = 0; position < count; position++) {
    visit(index, position);
    for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--)
      index[axis] = 0;
  }
}

/** The element at a row-major position; bool is 0 or 1. */
export function elementAt({ dtype, data }: HloTensor, position: number): number | bigint {
  const element = readElement(dtype, data, position);
  return typeof element === 'boolean' ? Number(element) : element;
}

/** The element at an index. */
export function tensorElement(x: HloTensor, index: readonly number[]): number | bigint {
  return elementAt(x, positionOf(x.shape, index));
}

export function positionOf(shape: readonly number[], index: readonly number[]): number {
  let position = 0;
  for (let axis = 0; axis < shape.length; axis++) position = position * shape[axis] + index[axis];
  return position;
}
