import { type DType, isFloat, isWeak, promoteAll, type WeakKind } from '../../base/dtype.js';
import { broadcastDim, sameDim } from '../../base/dim/index.js';
import { DTypeError } from '../../base/errors.js';
import {
  joinedWords,
  type Refusal,
  type Require,
  requireNow,
  words,
} from '../../ir/requirement.js';
import type { Shape, TensorType } from '../../ir/types.js';
import { batchShape } from '../contraction/matmul-shapes.js';
import { broadcastShapes } from '../declare/infer.js';
import {
  broadcastMeetings,
  type Meeting,
  type OperandAxis,
  type RequiredShape,
  requiredShape,
  shapeMeetings,
} from '../declare/meeting.js';

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
    areMatrices(shapes) &&
    sameDim(q.shape.at(-1)!, k.shape.at(-1)!) &&
    sameDim(k.shape.at(-2)!, v.shape.at(-2)!);
  require(fits, () => operandsDiffer(op, shapes));
  const result = resultShape(op, shapes, require);
  if (mask !== undefined) {
    checkMask(op, mask.shape, [...batchShape(result), q.shape.at(-2)!, k.shape.at(-2)!]);
    if (mask.dtype !== 'bool' && !isFloat(mask.dtype)) {
      throw new DTypeError('a mask of integers is ambiguous', {
        op,
        expected: 'a mask of bool, or of floats to add',
        actual: mask.dtype,
      });
    }
  }
  return result;
}

function resultShape(op: string, [q, k, v]: readonly Shape[], require: Require): Shape {
  const batch = broadcastShapes(op, [q, k, v].map(batchShape), require);
  return [...batch, q.at(-2)!, v.at(-1)!];
}

/** The shape that an operator asks of the gradient of attention's result. */
export function gradientShape(op: string, g: Shape, result: Shape): RequiredShape {
  return requiredShape(op, words`the gradient is not that of the result`, result, g);
}

/** Meetings of the gradient of attention's result, the operand behind queries, keys and values. */
export function gradientMeetings(op: string, [q, k, v, g]: readonly Shape[]): readonly Meeting[] {
  if (!areMatrices([q, k, v])) return [];
  return shapeMeetings(3, g, gradientShape(op, g, resultShape(op, [q, k, v], requireNow)));
}

function checkMask(op: string, mask: Shape, scores: Shape): void {
  const offset = scores.length - mask.length;
  const fits =
    offset >= 0 && mask.every((dim, axis) => dim === 1 || sameDim(dim, scores[offset + axis]));
  requireNow(fits, () => maskDiffers(op, mask, scores));
}

function maskDiffers(op: string, mask: Shape, scores: Shape): Refusal {
  return {
    op,
    problem: words`the mask does not fit`,
    expected: words`a mask that broadcasts to ${scores}`,
    actual: words`${mask}`,
  };
}

function operandsDiffer(op: string, shapes: readonly Shape[]): Refusal {
  return {
    op,
    problem: words`queries, keys and values do not fit`,
    expected: words`[..., queries, size], [..., keys, size] and [..., keys, channels]`,
    actual: joinedWords(
      shapes.map((shape) => words`${shape}`),
      ', ',
    ),
  };
}

const areMatrices = (shapes: readonly Shape[]): boolean =>
  shapes.every((shape) => shape.length >= 2);

/** Meetings of the axes of queries, keys, values and a mask, which broadcasts to the scores. */
export function attentionMeetings(
  op: string,
  [q, k, v, mask]: readonly Shape[],
): readonly Meeting[] {
  if (!areMatrices([q, k, v])) return [];
  const equal = (a: OperandAxis, b: OperandAxis): Meeting => ({
    places: [a, b],
    broadcasts: false,
    refusal: () => operandsDiffer(op, [q, k, v]),
  });
  const meetings = [
    equal({ operand: 0, axis: q.length - 1 }, { operand: 1, axis: k.length - 1 }),
    equal({ operand: 1, axis: k.length - 2 }, { operand: 2, axis: v.length - 2 }),
    ...broadcastMeetings(op, [q, k, v].map(batchShape)),
  ];
  if (mask === undefined) return meetings;
  const batch = [q, k, v].map(batchShape).reduce((a, b) => {
    const rank = Math.max(a.length, b.length);
    return Array.from({ length: rank }, (_, axis) =>
      broadcastDim(a[axis - rank + a.length] ?? 1, b[axis - rank + b.length] ?? 1),
    );
  });
  const scores = [...batch, q.at(-2)!, k.at(-2)!];
  const lead = scores.length - mask.length;
  if (lead < 0) return meetings;
  const masked = mask.map((_, axis) => ({
    places: [{ operand: 3, axis }],
    broadcasts: true,
    size: scores[lead + axis],
    refusal: () => maskDiffers(op, mask, scores),
  }));
  return [...meetings, ...masked];
}
