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
import { add, mul, sub } from '../elementwise/arithmetic.js';
import { requireShape } from '../declare/meeting.js';
import { swapaxes } from '../movement/transpose.js';
import { broadcastTo, sum, sumTo } from '../reduction/sum.js';
import { type AttentionAttributes, attentionGradientNest } from './attention-nests.js';
import {
  attentionDTypes,
  attentionShape,
  gradientMeetings,
  gradientShape,
} from './attention-types.js';
import { scaleOf, weightsOf } from './attention-weights.js';

export interface AttentionGradients<T> {
  readonly q: T;
  readonly k: T;
  readonly v: T;
}

/**
 * @internal The gradients of queries, keys and values for the gradient `g` of `attention`, each with all the leading
 * axes of `g`. The weights are computed again, by blocks of queries like those of attention.
 */
export const attentionGradient: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    q: Input<T>,
    k: Input<T>,
    v: Input<T>,
    g: Input<T>,
    mask: Input<T> | null,
    options: AttentionAttributes,
  ) => AttentionGradients<T>
> = operator({
  name: 'attentionGradient',
  options: { at: 5, names: ['causal', 'scale'] },
  family: 'normalization',
  attributes: { causal: attr.bool, scale: attr.optional(attr.number) },
  results: ['q', 'k', 'v'],
  method: false,
  operands: ([q, k, v, g, ...masks]) => attentionDTypes([q, k, v, g], masks),
  call: (q, k, v, g, mask, { causal, scale }) => ({
    inputs: mask === null ? [q, k, v, g] : [q, k, v, g, mask],
    attributes: { causal, scale },
  }),
  infer: ({ inputs: [q, k, v, g, mask], require }) => {
    const op = 'attentionGradient';
    const result = attentionShape(op, q, k, v, mask, require);
    requireShape(g.shape, gradientShape(op, g.shape, result), require);
    return [q, k, v].map(({ dtype, shape }) => ({
      dtype,
      shape: [...g.shape.slice(0, -2), ...shape.slice(-2)],
    }));
  },
  meetings: (shapes) => gradientMeetings('attentionGradient', shapes),
  gradient: ({ inputs: [q, k, v, g, mask], grads, needs, attributes: options }) => {
    const scale = scaleOf(q, options.scale);
    const turned = <T extends Tensor>(x: T): T => swapaxes(x, -1, -2);
    const total = (like: typeof q, ...parts: readonly (typeof q | null)[]): typeof q | null => {
      const there = parts.filter((part) => part !== null);
      return there.length === 0 ? null : sumTo(there.reduce(add), like.type.shape);
    };
    const [ofQ, ofK, ofV] = grads;
    const weights = weightsOf(q, k, mask, options);
    // The gradients of q and k are products with that of the scores, which is the weights times how far
    // those of the weights are from their mean. Differences from means come first, and are weighed before
    // they meet: where all the weight is on one key they are zero, however large what they are made of.
    const centered = (x: typeof q): typeof q => sub(x, alongRows(x, weights));
    const ofWeights = centered(matmul(g, turned(v)));
    const ofScores = mul(weights, ofWeights);
    const terms = [
      ofQ === null ? null : matmul(ofQ, turned(k)),
      ofK === null ? null : matmul(q, turned(ofK)),
    ].filter((term) => term !== null);
    const toScores =
      terms.length === 0 ? null : mul(weights, centered(mul(terms.reduce(add), scale)));
    const both = toScores === null ? null : mul(toScores, ofWeights);
    const again = [
      ofV === null ? null : mul(weights, centered(matmul(g, turned(ofV)))),
      both === null ? null : sub(both, mul(weights, sum(both, -1, { keepdims: true }))),
    ]
      .filter((part) => part !== null)
      .reduce(add);
    return [
      needs[0]
        ? total(q, mul(matmul(again, k), scale), ofK && mul(matmul(ofScores, ofK), scale))
        : null,
      needs[1]
        ? total(
            k,
            mul(matmul(turned(again), q), scale),
            ofQ && mul(matmul(turned(ofScores), ofQ), scale),
          )
        : null,
      needs[2] ? total(v, toScores && matmul(turned(toScores), g)) : null,
      needs[3] ? total(g, ofV && matmul(weights, ofV), toScores && matmul(toScores, v)) : null,
      ...(mask === undefined
        ? []
        : [needs[4] && mask.type.dtype !== 'bool' ? total(mask, again) : null]),
    ];
  },
  precision: 'float32',
  lowering: { kind: 'kernel', kernel: attentionGradientNest, readsAnyOrder: true },
  onnx: {
    composed: ({ inputs: [q, k, v, g, mask], outputTypes, attributes }) => {
      const weights = weightsOf(q, k, mask, attributes);
      const upstream = matmul(g, swapaxes(v, -1, -2));
      const scores = mul(weights, sub(upstream, alongRows(upstream, weights)));
      const scaled = mul(scores, scaleOf(q, attributes.scale));
      const grads = [
        matmul(scaled, k),
        matmul(swapaxes(scaled, -1, -2), q),
        matmul(swapaxes(weights, -1, -2), g),
      ];
      return grads.map((grad, i) => broadcastTo(grad, outputTypes[i].shape));
    },
  },
  samples: [
    {
      args: [
        tensor(['q', 4]),
        tensor(['k', 4]),
        tensor(['k', 3]),
        tensor(['q', 3]),
        null,
        { causal: false, scale: null },
      ],
    },
    {
      args: [
        tensor(['b', 2, 'q', 4]),
        tensor(['b', 1, 'k', 4]),
        tensor([2, 'k', 'c']),
        tensor(['b', 2, 'q', 'c']),
        null,
        { causal: true, scale: 0.7 },
      ],
    },
    {
      args: [
        tensor([2, 'q', 'd']),
        tensor([2, 'k', 'd']),
        tensor([2, 'k', 3]),
        tensor([2, 'q', 3]),
        tensor(['q', 'k']),
        { causal: false, scale: null },
      ],
    },
  ],
});

function alongRows<T extends Tensor>(x: T, weights: T): T {
  return sum(mul(x, weights), -1, { keepdims: true });
}
