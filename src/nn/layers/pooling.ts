import { checkArgument, checkOptions } from '../../base/attributes/options.js';
import type { NDArray } from '../../front/core/ndarray.js';
import { checkPoolPadding, perAxis } from '../../ops/contraction/window.js';
import { outputSizes, type OutputSize } from '../../ops/contraction/adaptive-pooling.js';
import { adaptiveAvgPool2d, adaptiveMaxPool2d, avgPool2d, maxPool2d } from '../../ops/index.js';
import { HybridBlock } from '../block.js';
import type { Extents } from './convolution.js';
import { checkInput } from '../input.js';
import { extentsRule } from './options.js';

/** Options of pooling layers. */
export interface PoolOptions {
  /** Default: the pool size. */
  readonly strides?: Extents;
  /** Default 0. */
  readonly padding?: Extents;
}

/** Reduction of each window of (batch, channels, height, width). */
abstract class Pool2d extends HybridBlock {
  readonly #pool: (x: NDArray) => NDArray;

  constructor(
    op: string,
    pool: (x: NDArray, size: Extents, options: PoolOptions) => NDArray,
    poolSize: Extents,
    options: PoolOptions,
  ) {
    super();
    checkArgument(op, 'poolSize', poolSize, extentsRule(2, 1));
    checkOptions<PoolOptions>(op, options, {
      strides: extentsRule(2, 1),
      padding: extentsRule(2, 0),
    });
    checkPoolPadding(op, perAxis(op, 'poolSize', poolSize, 2), options.padding ?? 0);
    this.#pool = (x) => pool(x, poolSize, options);
  }

  override forward(x: NDArray): NDArray {
    checkInput(this, 'x', x);
    return this.#pool(x);
  }
}

/** The greatest element of each window of (batch, channels, height, width). */
export class MaxPool2d extends Pool2d {
  constructor(poolSize: Extents = 2, options: PoolOptions = {}) {
    super('MaxPool2d', maxPool2d, poolSize, options);
  }
}

/** The mean of each window of (batch, channels, height, width). */
export class AvgPool2d extends Pool2d {
  constructor(poolSize: Extents = 2, options: PoolOptions = {}) {
    super('AvgPool2d', avgPool2d, poolSize, options);
  }
}

/** The mean over all of space: (batch, channels, h, w) to (batch, channels, 1, 1). */
export class GlobalAvgPool2d extends HybridBlock {
  override forward(x: NDArray): NDArray {
    checkInput(this, 'x', x);
    return x.mean([2, 3], { keepdims: true });
  }
}

/** Reduction of (batch, channels, height, width) to a size, whatever the size of the input. */
abstract class AdaptivePool2d extends HybridBlock {
  readonly #pool: (x: NDArray) => NDArray;

  constructor(op: string, pool: (x: NDArray, size: OutputSize) => NDArray, outputSize: OutputSize) {
    super();
    outputSizes(op, outputSize, 2);
    this.#pool = (x) => pool(x, outputSize);
  }

  override forward(x: NDArray): NDArray {
    checkInput(this, 'x', x);
    return this.#pool(x);
  }
}

/** The mean of each of `outputSize` bins of (batch, channels, height, width); null leaves an axis as it is. */
export class AdaptiveAvgPool2d extends AdaptivePool2d {
  constructor(outputSize: OutputSize) {
    super('AdaptiveAvgPool2d', adaptiveAvgPool2d, outputSize);
  }
}

/** The greatest element of each of `outputSize` bins of (batch, channels, height, width); null leaves an axis as it is. */
export class AdaptiveMaxPool2d extends AdaptivePool2d {
  constructor(outputSize: OutputSize) {
    super('AdaptiveMaxPool2d', adaptiveMaxPool2d, outputSize);
  }
}
