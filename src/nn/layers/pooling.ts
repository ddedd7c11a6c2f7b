import type { NDArray } from '../../front/ndarray.js';
import { avgPool2d, maxPool2d } from '../../ops/index.js';
import { HybridBlock } from '../block.js';
import type { Extents } from './convolution.js';

export interface PoolOptions {
  /** Default: the pool size. */
  readonly strides?: Extents;
  /** Default 0. */
  readonly padding?: Extents;
}

/** The greatest element of each window of (batch, channels, height, width). */
export class MaxPool2d extends HybridBlock {
  readonly #size: Extents;
  readonly #options: PoolOptions;

  constructor(poolSize: Extents = 2, options: PoolOptions = {}) {
    super();
    this.#size = poolSize;
    this.#options = options;
  }

  override forward(x: NDArray): NDArray {
    return maxPool2d(x, this.#size, this.#options);
  }
}

/** The mean of each window of (batch, channels, height, width). */
export class AvgPool2d extends HybridBlock {
  readonly #size: Extents;
  readonly #options: PoolOptions;

  constructor(poolSize: Extents = 2, options: PoolOptions = {}) {
    super();
    this.#size = poolSize;
    this.#options = options;
  }

  override forward(x: NDArray): NDArray {
    return avgPool2d(x, this.#size, this.#options);
  }
}

/** The mean over all of space: (batch, channels, h, w) to (batch, channels, 1, 1). */
export class GlobalAvgPool2d extends HybridBlock {
  override forward(x: NDArray): NDArray {
    return x.mean([2, 3], { keepdims: true });
  }
}
