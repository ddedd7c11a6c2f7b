import { type DType, isFloat, isWeak, promoteAll, type WeakKind } from '../../base/dtype.js';
import { sameDim } from '../../base/dim/index.js';
import { DTypeError, ShapeError } from '../../base/errors.js';
import type { Require } from '../../ir/requirement.js';
import type { Shape, TensorType } from '../../ir/types.js';
import { broadcastShapes, shapeToString } from '../declare/infer.js';

type Kind = DType | WeakKind;

/** Converts all float operands to one dtype; a boolean mask stays one. */
export function attentionDTypes(
  factors: readonly Kind[],
  masks: readonly Kind[],
): readonly DType[] {
  const common = promoteAll(factors);
  const dtype = isFloat(common) ? common : 'float32';
  return [
    ...factors.map(() => dtype),
    ...masks.map((mask) => {
      if (mask === 'weak-bool') return 'bool';
      return isWeak(mask) || isFloat(mask) ? dtype : mask;
    }),
  ];
}

/** The shape of the result. Throws for operands that do not fit one another. */
export function attentionShape(
  op: string,
  q: TensorType,
  k: TensorType,
  v: TensorType,
  mask: TensorType | undefined,
  require: Require,
): Shape {
  const shapes = [q, k, v].map(({ shape }) => shape);
  const fits =
    shapes.every((shape) => shape.length >= 2) &&
    sameDim(q.shape.at(-1)!, k.shape.at(-1)!) &&
    sameDim(k.shape.at(-2)!, v.shape.at(-2)!);
  if (!fits) {
    throw new ShapeError('queries, keys and values do not fit', {
      op,
      expected: '[..., queries, size], [..., keys, size] and [..., keys, channels]',
      actual: shapes.map(shapeToString).join(', '),
    });
  }
  const batch = broadcastShapes(
    op,
    shapes.map((shape) => shape.slice(0, -2)),
    require,
  );
  if (mask !== undefined) {
    checkMask(op, mask.shape, [...batch, q.shape.at(-2)!, k.shape.at(-2)!]);
    if (mask.dtype !== 'bool' && !isFloat(mask.dtype)) {
      throw new DTypeError('a mask of integers is ambiguous', {
        op,
        expected: 'a mask of bool, or of floats to add',
        actual: mask.dtype,
      });
    }
  }
  return [...batch, q.shape.at(-2)!, v.shape.at(-1)!];
}

function checkMask(op: string, mask: Shape, scores: Shape): void {
  const offset = scores.length - mask.length;
  if (offset >= 0 && mask.every((dim, axis) => dim === 1 || sameDim(dim, scores[offset + axis])))
    return;
  throw new ShapeError('the mask does not fit', {
    op,
    expected: `a mask that broadcasts to ${shapeToString(scores)}`,
    actual: shapeToString(mask),
  });
}
