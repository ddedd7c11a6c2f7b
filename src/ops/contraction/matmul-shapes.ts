import { ShapeError } from '../../base/errors.js';
import { equalSizes, type Require, requireNow, words } from '../../ir/requirement.js';
import type { Shape, TensorType } from '../../ir/types.js';
import { broadcastShapes, shapeToString } from '../declare/infer.js';

/** The type of `x y`; a `ShapeError` of `op` for operands that cannot be multiplied. */
export function inferProduct(
  op: string,
  x: TensorType,
  y: TensorType,
  require: Require,
): TensorType {
  for (const { shape } of [x, y]) {
    if (shape.length === 0) {
      throw new ShapeError('an operand has rank 0', {
        op,
        expected: 'arrays of rank 1 or more',
        actual: `${shapeToString(x.shape)} and ${shapeToString(y.shape)}`,
        advice: 'multiply by a scalar with mul',
      });
    }
  }
  const [left, right] = [rowsShape(x.shape), columnsShape(y.shape)];
  const [inner, wanted] = [left.at(-1)!, right.at(-2)!];
  require(equalSizes(inner, wanted), () => ({
    op,
    problem: words`the inner extents differ`,
    expected: words`${inner} rows on the right, as the left has ${inner} columns`,
    actual: words`${x.shape} and ${y.shape}`,
  }));
  const full = productShape(op, left, right, require);
  const shape = full.filter(
    (_, axis) =>
      !(axis === full.length - 2 && x.shape.length === 1) &&
      !(axis === full.length - 1 && y.shape.length === 1),
  );
  return { dtype: x.dtype, shape };
}

/** A vector on the left is one row. */
export const rowsShape = (shape: Shape): Shape => (shape.length === 1 ? [1, ...shape] : shape);
/** A vector on the right is one column. */
export const columnsShape = (shape: Shape): Shape => (shape.length === 1 ? [...shape, 1] : shape);

/** The leading axes of an operand, which broadcast. */
export const batchShape = (shape: Shape): Shape => shape.slice(0, -2);

/**
 * The result's shape for operands of rank 2 or more. Without `require` its requirements have been stated
 * before.
 */
export function productShape(
  op: string,
  left: Shape,
  right: Shape,
  require: Require = requireNow,
): Shape {
  return [
    ...broadcastShapes(op, [left, right].map(batchShape), require),
    left.at(-2)!,
    right.at(-1)!,
  ];
}

/** One matrix for every batch entry: the batch can then be folded into the rows on the left. */
export const isShared = (shape: Shape): boolean => batchShape(shape).every((dim) => dim === 1);
