import * as attr from '../../base/attributes/attribute.js';
import { describe } from '../../base/attributes/attribute.js';
import { boundsOf, type Dim, minimumOf, sameDim } from '../../base/dim/index.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import type { InferContext } from '../../ir/operator.js';
import {
  atLeast,
  equalSizes,
  type Refusal,
  type Require,
  requireNow,
  words,
} from '../../ir/requirement.js';
import type { Shape, TensorType } from '../../ir/types.js';
import { broadcastRefusal } from './meeting.js';

/** Shape arithmetic of type inference. `op` names the operator in errors. */

/** `[2, n]`. */
export function shapeToString(shape: Shape): string {
  return `[${shape.map(String).join(', ')}]`;
}

/**
 * NumPy's broadcasting. A symbol meets a literal 1 or itself; two sizes that can be 1 only together are
 * required to be equal.
 */
export function broadcastShapes(op: string, shapes: readonly Shape[], require: Require): Shape {
  const rank = Math.max(0, ...shapes.map((shape) => shape.length));
  const result: Dim[] = [];
  const different = (): Refusal => broadcastRefusal(op, shapes);
  for (let axis = 0; axis < rank; axis++) {
    let extent: Dim = 1;
    for (const shape of shapes) {
      const dim = shape[axis - rank + shape.length] ?? 1;
      if (dim === 1 || sameDim(dim, extent)) continue;
      if (extent !== 1) require(areOneTogether(dim, extent) && equalSizes(dim, extent), different);
      // Prefers the simpler of two equal sizes.
      if (extent === 1 || minimumOf(extent) !== null) extent = dim;
    }
    result.push(extent);
  }
  return result;
}

/** True when neither of two sizes can be 1 unless the other is. */
function areOneTogether(a: Dim, b: Dim): boolean {
  if (boundsOf(a).min > 1 && boundsOf(b).min > 1) return true;
  return isLimited(a, b) || isLimited(b, a);
}

/** True when `a` is the minimum of `b` and a size greater than 1. */
function isLimited(a: Dim, b: Dim): boolean {
  const minimum = minimumOf(a);
  if (minimum === null) return false;
  const { left, right } = minimum;
  return (
    (sameDim(left, b) && boundsOf(right).min > 1) || (sameDim(right, b) && boundsOf(left).min > 1)
  );
}

/** Normalizes an axis from -rank to rank - 1 to one from 0 to rank - 1. */
export function normalizeAxis(op: string, axis: number, rank: number): number {
  if (!Number.isInteger(axis) || axis < -rank || axis >= rank) {
    throw new ShapeError(`axis ${describe(axis)} does not exist`, {
      op,
      expected:
        rank === 0 ? 'no axis: the array has rank 0' : `an integer from ${-rank} to ${rank - 1}`,
      actual: describe(axis),
    });
  }
  return axisFromFirst(axis, rank);
}

/** Axis that inference has accepted, counted from the first. */
function axisFromFirst(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

/** Axes ascending and distinct; null or undefined means all. */
export function normalizeAxes(
  op: string,
  axes: number | readonly number[] | null | undefined,
  rank: number,
): readonly number[] {
  if (axes === null || axes === undefined) return Array.from({ length: rank }, (_, axis) => axis);
  const list = (typeof axes === 'number' ? [axes] : axes).map((axis) =>
    normalizeAxis(op, axis, rank),
  );
  if (new Set(list).size !== list.length) {
    throw new ArgumentError('an axis is named twice', {
      op,
      expected: 'each axis once',
      actual: shapeToString(list),
    });
  }
  return list.toSorted((a, b) => a - b);
}

/** @throws ShapeError when the rank of a shape is not the wanted one. */
export function checkRank(op: string, shape: Shape, wanted: Shape): void {
  if (shape.length === wanted.length) return;
  throw new ShapeError('the shapes have different ranks', {
    op,
    expected: shapeToString(wanted),
    actual: shapeToString(shape),
  });
}

/** The shape without the axes, or with 1 in their place. */
export function reducedShape(shape: Shape, axes: readonly number[], keepdims: boolean): Shape {
  if (keepdims) return shape.map((dim, axis) => (axes.includes(axis) ? 1 : dim));
  return shape.filter((_, axis) => !axes.includes(axis));
}

/** Inference of an elementwise operator: broadcast shape, with the first operand's dtype or the given one. */
export function inferElementwise(
  op: string,
  dtype?: TensorType['dtype'],
): (context: InferContext) => readonly TensorType[] {
  return ({ inputs, require }) => [
    {
      dtype: dtype ?? inputs[0].dtype,
      shape:
        inputs.length === 1
          ? inputs[0].shape
          : broadcastShapes(
              op,
              inputs.map((input) => input.shape),
              require,
            ),
    },
  ];
}

/** Tests that all extents are whole numbers of 0 or more, as in nearly every shape: nothing is to be refused then. */
function areSizes(shape: Shape): boolean {
  if (!Array.isArray(shape)) return false;
  for (let axis = 0; axis < shape.length; axis++) {
    const dim: unknown = shape[axis];
    if (!Number.isSafeInteger(dim) || (dim as number) < 0) return false;
  }
  return true;
}

/** True for a size that cannot be anything but 0, such as the number of rows that a mask picks of none. */
export function isEmptySize(size: Dim): boolean {
  return boundsOf(size).max === 0;
}

/** Refuses shapes with negative extents. */
export function checkShape(op: string, shape: Shape, require: Require = requireNow): void {
  if (areSizes(shape)) return;
  if (!attr.dims.accepts(shape)) {
    throw new ArgumentError('this is not a shape', {
      op,
      expected: attr.dims.expected,
      actual: describe(shape),
    });
  }
  for (const dim of shape) {
    require(atLeast(dim, 0), () => ({
      op,
      problem: words`a shape has a negative extent`,
      expected: words`extents of 0 or more`,
      actual: words`${shape}`,
    }));
  }
}
