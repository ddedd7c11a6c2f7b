import { type Dim, isStatic, elementCount } from '../../base/dim/index.js';
import type { Tensor } from '../../ir/types.js';
import { add, div, mul, square, sub } from '../elementwise/arithmetic.js';
import { rsqrt } from '../elementwise/root.js';
import { dimLike } from '../movement/fill.js';
import { mean } from '../reduction/average.js';
import { broadcastTo } from '../reduction/sum.js';

/*
 * Standardizing and its derivative, in operators: what all normalizations are made of. Statistics keep the
 * reduced axes with size 1.
 */

const keepdims = { keepdims: true };

export interface Moments<T extends Tensor> {
  readonly mean: T;
  /** The mean square distance from the mean. */
  readonly variance: T;
}

/** Mean and variance over axes, in two passes for accuracy with a large mean. */
export function moments<T extends Tensor>(x: T, axes: readonly number[]): Moments<T> {
  const center = mean(x, axes, keepdims);
  return { mean: center, variance: mean(square(sub(x, center)), axes, keepdims) };
}

/** A normalization over axes, and its gradient with respect to `x`. */
export interface NormalForm {
  of<T extends Tensor>(x: T, axes: readonly number[], epsilon: number): T;
  through<T extends Tensor>(x: T, g: T, axes: readonly number[], epsilon: number): T;
}

/**
 * `(x - mean) / sqrt(variance + epsilon)`. With y the result and r the factor its gradient is
 * r (g - mean(g) - y mean(g y)), exact for any epsilon.
 */
export const standardForm: NormalForm = {
  of(x, axes, epsilon) {
    const { mean: center, variance } = moments(x, axes);
    return mul(sub(x, center), rsqrt(add(variance, epsilon)));
  },
  through(x, g, axes, epsilon) {
    const { mean: center, variance } = moments(x, axes);
    const factor = rsqrt(add(variance, epsilon));
    const y = mul(sub(x, center), factor);
    const along = mul(y, mean(mul(g, y), axes, keepdims));
    return mul(factor, sub(sub(g, mean(g, axes, keepdims)), along));
  },
};

/** `x / sqrt(mean(x^2) + epsilon)`. With y the result and r the factor: r (g - y mean(g y)). */
export const rootMeanSquareForm: NormalForm = {
  of: (x, axes, epsilon) => mul(x, rsqrt(add(mean(square(x), axes, keepdims), epsilon))),
  through(x, g, axes, epsilon) {
    const factor = rsqrt(add(mean(square(x), axes, keepdims), epsilon));
    const y = mul(x, factor);
    return mul(factor, sub(g, mul(y, mean(mul(g, y), axes, keepdims))));
  },
};

/** The gradient of `x` from the gradients of its moments; null when there is none. */
export function throughMoments<T extends Tensor>(
  x: T,
  gradients: { readonly mean: T | null; readonly variance: T | null },
  axes: readonly number[],
): T | null {
  const size: Dim = elementCount(axes.map((axis) => x.type.shape[axis]));
  const count = isStatic(size) ? size : dimLike(x, size);
  const ofMean = gradients.mean === null ? null : div(gradients.mean, count);
  if (gradients.variance === null) return ofMean && broadcastTo(ofMean, x.type.shape);
  const distance = sub(x, mean(x, axes, keepdims));
  const ofVariance = mul(distance, div(mul(gradients.variance, 2), count));
  return ofMean === null ? ofVariance : add(ofVariance, ofMean);
}
