import * as attr from '../../base/attributes/attribute.js';
import type { Tensor } from '../../ir/types.js';
import { matmul } from '../contraction/matmul.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { mul, sub } from '../elementwise/arithmetic.js';
import { swapaxes } from '../movement/transpose.js';
import { sum, sumTo } from '../reduction/sum.js';
import { attentionGradient } from './attention-gradient.js';
import { type AttentionAttributes, attentionNest } from './attention-nests.js';
import { attentionDTypes, attentionMeetings, attentionShape } from './attention-types.js';
import { scaleOf, weightsOf } from './attention-weights.js';

export interface AttentionOptions<T extends Tensor = DefaultTensor> {
  /**
   * Mask of the scores, `[..., queries, keys]`, broadcast: bool (true attends), or a float that is added to
   * the scores.
   */
  readonly mask?: Input<T>;
  /** Query `i` attends to the keys `0 .. i` only. Default false. */
  readonly causal?: boolean;
  /** Scale of the scores. Default `1 / sqrt(size)`. */
  readonly scale?: number;
}

/**
 * Scaled dot-product attention, `softmax(q k^T * scale + mask) v`: `q` is `[..., queries, size]`, `k` `[...,
 * keys, size]`, `v` `[..., keys, channels]`, the result `[..., queries, channels]`; leading axes broadcast. A
 * fully masked query gives zeros.
 *
 * Source: Vaswani et al., Attention Is All You Need, 2017. Throws a `ShapeError` when extents differ and a
 * `DTypeError` for an integer mask.
 */
export const attention: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    q: Input<T>,
    k: Input<T>,
    v: Input<T>,
    options?: AttentionOptions<T>,
  ) => T
> = operator({
  name: 'attention',
  options: { at: 3, names: ['mask', 'causal', 'scale'] },
  family: 'normalization',
  attributes: { causal: attr.bool, scale: attr.optional(attr.number) },
  method: false,
  operands: ([q, k, v, ...masks]) => attentionDTypes([q, k, v], masks),
  call: (q, k, v, options) => {
    const { mask, causal = false, scale = null } = options ?? {};
    return {
      inputs: mask === undefined ? [q, k, v] : [q, k, v, mask],
      attributes: { causal, scale },
    };
  },
  infer: ({ inputs: [q, k, v, mask], require }) => [
    { dtype: q.dtype, shape: attentionShape('attention', q, k, v, mask, require) },
  ],
  meetings: (shapes) => attentionMeetings('attention', shapes),
  gradient: ({ inputs: [q, k, v, mask], grads: [g], needs, attributes: options }) => {
    if (mask !== undefined && needs[3] && mask.type.dtype !== 'bool') {
      return gradientsWithMask(q, k, v, mask, g!, needs, options);
    }
    const grads = attentionGradient(q, k, v, g!, mask ?? null, options);
    return [
      needs[0] ? sumTo(grads.q, q.type.shape) : null,
      needs[1] ? sumTo(grads.k, k.type.shape) : null,
      needs[2] ? sumTo(grads.v, v.type.shape) : null,
      ...(mask === undefined ? [] : [null]),
    ];
  },
  precision: 'float32',
  lowering: { kind: 'kernel', kernel: attentionNest, readsAnyOrder: true },
  onnx: {
    composed: ({ inputs: [q, k, v, mask], attributes }) => [
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

/** The gradient of an additive mask has the extents of all scores, so the weights are materialized anyway. */
function gradientsWithMask<T extends Tensor>(
  q: T,
  k: T,
  v: T,
  mask: T,
  g: T,
  needs: readonly boolean[],
  options: AttentionAttributes,
): (T | null)[] {
  const weights = weightsOf(q, k, mask, options);
  const upstream = matmul(g, swapaxes(v, -1, -2));
  const scores = mul(weights, sub(upstream, sum(mul(upstream, weights), -1, { keepdims: true })));
  const scaled = mul(scores, scaleOf(q, options.scale));
  return [
    needs[0] ? sumTo(matmul(scaled, k), q.type.shape) : null,
    needs[1] ? sumTo(matmul(swapaxes(scaled, -1, -2), q), k.type.shape) : null,
    needs[2] ? sumTo(matmul(swapaxes(weights, -1, -2), g), v.type.shape) : null,
    sumTo(scores, mask.type.shape),
  ];
}
