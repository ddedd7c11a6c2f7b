import * as attr from '../../base/attribute.js';
import { isFloat, isWeak, promoteAll } from '../../base/dtype.js';
import { isStatic, sameDim } from '../../base/dim.js';
import { DTypeError, ShapeError } from '../../base/errors.js';
import type { Shape, Tensor } from '../../ir/types.js';
import { matmul } from '../contraction/matmul.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare.js';
import { add, div, mul, sub } from '../elementwise/arithmetic.js';
import { cast } from '../elementwise/conversion.js';
import { maximum } from '../elementwise/extremum.js';
import { sqrt } from '../elementwise/root.js';
import { where } from '../elementwise/selection.js';
import { broadcastShapes, shapeToString } from '../infer.js';
import { dimLike, onesLike } from '../movement/fill.js';
import { swapaxes } from '../movement/transpose.js';
import { tril } from '../movement/triangle.js';
import { sum, sumTo } from '../reduction/sum.js';
import { softmax } from './softmax.js';

export interface AttentionOptions<T extends Tensor = DefaultTensor> {
  /**
   * Which keys a query sees, `[..., queries, keys]`, broadcast to the scores: bool (true sees), or a float
   * that is added to the scores.
   */
  readonly mask?: Input<T>;
  /** Query `i` sees the keys `0 .. i` only. Default false. */
  readonly causal?: boolean;
  /** What the scores are multiplied with. Default `1 / sqrt(size)`. */
  readonly scale?: number;
}

/**
 * Scaled dot-product attention, `softmax(q k^T * scale + mask) v`: `q` is `[..., queries, size]`, `k`
 * `[..., keys, size]`, `v` `[..., keys, channels]`, the result `[..., queries, channels]`; leading axes
 * broadcast. A query that sees no key gives zeros.
 *
 * Source: Vaswani et al., Attention Is All You Need, 2017. Throws a `ShapeError` when extents differ
 * and a `DTypeError` for an integer mask.
 */
export const attention: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    q: Input<T>,
    k: Input<T>,
    v: Input<T>,
    options?: AttentionOptions<T>,
  ) => T,
  false
> = operator({
  name: 'attention',
  family: 'normalisation',
  attributes: { causal: attr.bool, scale: attr.optional(attr.number) },
  method: false,
  operands: ([q, k, v, ...masks]) => {
    const common = promoteAll([q, k, v]);
    const dtype = isFloat(common) ? common : 'float32';
    return [
      dtype,
      dtype,
      dtype,
      ...masks.map((mask) => {
        if (mask === 'weak-bool') return 'bool';
        return isWeak(mask) || isFloat(mask) ? dtype : mask;
      }),
    ];
  },
  call: (q, k, v, options) => {
    const { mask, causal = false, scale = null } = options ?? {};
    return {
      inputs: mask === undefined ? [q, k, v] : [q, k, v, mask],
      attributes: { causal, scale },
    };
  },
  infer: ({ inputs: [q, k, v, mask] }) => {
    const op = 'attention';
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
    const batch = broadcastShapes(op, ...shapes.map((shape) => shape.slice(0, -2)));
    if (mask !== undefined) checkMask(mask.shape, [...batch, q.shape.at(-2)!, k.shape.at(-2)!]);
    if (mask !== undefined && mask.dtype !== 'bool' && !isFloat(mask.dtype)) {
      throw new DTypeError('a mask of integers is ambiguous', {
        op,
        expected: 'a mask of bool, or of floats to add',
        actual: mask.dtype,
      });
    }
    return [{ dtype: q.dtype, shape: [...batch, q.shape.at(-2)!, v.shape.at(-1)!] }];
  },
  gradient: ({ inputs: [q, k, v, mask], grads: [g], needs, attributes: options }) => {
    const weights = weightsOf(q, k, mask, options);
    const scale = scaleOf(q, options.scale);
    const upstream = matmul(g!, swapaxes(v, -1, -2));
    const scores = mul(weights, sub(upstream, sum(mul(upstream, weights), -1, { keepdims: true })));
    const scaled = mul(scores, scale);
    return [
      needs[0] ? sumTo(matmul(scaled, k), q.type.shape) : null,
      needs[1] ? sumTo(matmul(swapaxes(scaled, -1, -2), q), k.type.shape) : null,
      needs[2] ? sumTo(matmul(swapaxes(weights, -1, -2), g!), v.type.shape) : null,
      ...(mask === undefined
        ? []
        : [needs[3] && mask.type.dtype !== 'bool' ? sumTo(scores, mask.type.shape) : null]),
    ];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [q, k, v, mask], attributes }) => [
      matmul(weightsOf(q, k, mask, attributes), v),
    ],
  },
  samples: [
    { args: [tensor(['q', 4]), tensor(['k', 4]), tensor(['k', 3])] },
    {
      args: [
        tensor(['b', 2, 'q', 4]),
        tensor(['b', 1, 'k', 4]),
        tensor([2, 'k', 'c']),
        { causal: true },
      ],
    },
    {
      args: [tensor([2, 'q', 'd']), tensor([2, 'k', 'd']), tensor([2, 'k', 3])],
    },
  ],
});

interface Options {
  readonly causal: boolean;
  readonly scale: number | null;
}

/** What the scores are multiplied with; worked out in float64 where the size is symbolic, too. */
function scaleOf<T extends Tensor>(q: T, scale: number | null): T | number {
  if (scale !== null) return scale;
  const size = q.type.shape.at(-1)!;
  if (isStatic(size)) return 1 / Math.sqrt(Math.max(size, 1));
  const exact = maximum(dimLike(q, size, { dtype: 'float64' }), 1);
  return cast(div(1, sqrt(exact)), q.type.dtype);
}

function checkMask(mask: Shape, scores: Shape): void {
  const offset = scores.length - mask.length;
  if (offset >= 0 && mask.every((dim, axis) => dim === 1 || sameDim(dim, scores[offset + axis])))
    return;
  throw new ShapeError('the mask does not fit', {
    op: 'attention',
    expected: `a mask that broadcasts to ${shapeToString(scores)}`,
    actual: shapeToString(mask),
  });
}

/** How much of each value a query takes. */
function weightsOf<T extends Tensor>(
  q: T,
  k: T,
  mask: T | undefined,
  { causal, scale }: Options,
): T {
  let scores = mul(matmul(q, swapaxes(k, -1, -2)), scaleOf(q, scale));
  if (mask !== undefined) {
    scores = mask.type.dtype === 'bool' ? where(mask, scores, -Infinity) : add(scores, mask);
  }
  if (causal) scores = where(tril(onesLike(scores)), scores, -Infinity);
  return softmax(scores, -1);
}
