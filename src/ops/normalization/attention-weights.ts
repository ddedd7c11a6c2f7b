import { isStatic } from '../../base/dim/index.js';
import type { Tensor } from '../../ir/types.js';
import { matmul } from '../contraction/matmul.js';
import { add, div, mul } from '../elementwise/arithmetic.js';
import { cast } from '../elementwise/conversion.js';
import { maximum } from '../elementwise/extremum.js';
import { sqrt } from '../elementwise/root.js';
import { where } from '../elementwise/selection.js';
import { dimLike, onesLike } from '../movement/fill.js';
import { swapaxes } from '../movement/transpose.js';
import { tril } from '../movement/triangle.js';
import type { AttentionAttributes } from './attention-nests.js';
import { softmax } from './softmax.js';

/** The scale of the scores; computed in float64 also where the size is symbolic. */
export function scaleOf<T extends Tensor>(q: T, scale: number | null): T | number {
  if (scale !== null) return scale;
  const size = q.type.shape.at(-1)!;
  if (isStatic(size)) return 1 / Math.sqrt(Math.max(size, 1));
  const exact = maximum(dimLike(q, size, { dtype: 'float64' }), 1);
  return cast(div(1, sqrt(exact)), q.type.dtype);
}

/** The attention weights, for all queries and keys at once. */
export function weightsOf<T extends Tensor>(
  q: T,
  k: T,
  mask: T | undefined,
  { causal, scale }: AttentionAttributes,
): T {
  let scores = mul(matmul(q, swapaxes(k, -1, -2)), scaleOf(q, scale));
  if (mask !== undefined) {
    scores = mask.type.dtype === 'bool' ? where(mask, scores, -Infinity) : add(scores, mask);
  }
  if (causal) scores = where(tril(onesLike(scores)), scores, -Infinity);
  return softmax(scores, -1);
}
