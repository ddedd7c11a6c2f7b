import { isNarrowFloat } from '../../base/dtype.js';
import { pause, isTraining } from '../../front/autograd/index.js';
import type { NDArray } from '../../front/ndarray.js';
import { groupNorm, layerNorm, rmsNorm } from '../../ops/index.js';
import { defaultEpsilon } from '../../ops/normalisation/affine.js';
import { HybridBlock } from '../block.js';
import { ones, zeros } from '../initializer.js';
import { Parameter } from '../parameter.js';

/** What `BatchNorm` normalizes, and how fast its statistics follow. */
export interface BatchNormOptions {
  /** The axis of the channels. Default 1. */
  readonly axis?: number;
  /** The share of the old statistics that each training batch keeps. Default 0.9. */
  readonly momentum?: number;
  /** Added to the variance. Default 1e-5. */
  readonly epsilon?: number;
}

/**
 * Normalizes each channel by the statistics of the batch when training, and by the running ones
 * otherwise. Source: Ioffe and Szegedy, ICML 2015.
 */
export class BatchNorm extends HybridBlock {
  gamma: Parameter = new Parameter({ shape: [null], init: ones });
  beta: Parameter = new Parameter({ shape: [null], init: zeros });
  runningMean: Parameter = new Parameter({ shape: [null], init: zeros, gradReq: 'null' });
  runningVariance: Parameter = new Parameter({ shape: [null], init: ones, gradReq: 'null' });
  readonly #axis: number;
  readonly #momentum: number;
  readonly #epsilon: number;

  constructor(options: BatchNormOptions = {}) {
    super();
    this.#axis = options.axis ?? 1;
    this.#momentum = options.momentum ?? 0.9;
    this.#epsilon = options.epsilon ?? defaultEpsilon;
  }

  override inferShape(x: NDArray): void {
    for (const parameter of [this.gamma, this.beta, this.runningMean, this.runningVariance]) {
      parameter.resolveShape([x.shape.at(this.#axis)!]);
    }
  }

  override forward(given: NDArray): NDArray {
    // Statistics and the running ones are float32 for floats of 16 bits.
    const x = isNarrowFloat(given.dtype) ? given.astype('float32') : given;
    const channels = this.#axis < 0 ? this.#axis + x.ndim : this.#axis;
    const axes = Array.from({ length: x.ndim }, (_, axis) => axis);
    const others = axes.filter((axis) => axis !== channels);
    const along = axes.map((axis) => (axis === channels ? -1 : 1));
    const perChannel = (parameter: Parameter): NDArray => parameter.value.reshape(along);
    let mean = perChannel(this.runningMean);
    let variance = perChannel(this.runningVariance);
    if (isTraining()) {
      mean = x.mean(others, { keepdims: true });
      variance = x.sub(mean).square().mean(others, { keepdims: true });
      this.#remember(mean, variance);
    }
    const scale = variance.add(this.#epsilon).rsqrt().mul(perChannel(this.gamma));
    return x.sub(mean).mul(scale).add(perChannel(this.beta));
  }

  #remember(mean: NDArray, variance: NDArray): void {
    const update = (running: Parameter, batch: NDArray): void => {
      const kept = running.value.mul(this.#momentum);
      running.assign(kept.add(batch.reshape(running.value.shape).mul(1 - this.#momentum)));
    };
    pause(() => {
      update(this.runningMean, mean.detach());
      update(this.runningVariance, variance.detach());
    });
  }
}

/** What the other normalizing layers share. */
export interface NormOptions {
  /** Added to the variance. Default 1e-5. */
  readonly epsilon?: number;
}

/** Normalizes the last axis. Source: Ba, Kiros and Hinton, 2016. */
export class LayerNorm extends HybridBlock {
  gamma: Parameter = new Parameter({ shape: [null], init: ones });
  beta: Parameter = new Parameter({ shape: [null], init: zeros });
  readonly #epsilon: number;

  constructor(options: NormOptions = {}) {
    super();
    this.#epsilon = options.epsilon ?? defaultEpsilon;
  }

  override inferShape(x: NDArray): void {
    this.gamma.resolveShape([x.shape.at(-1)!]);
    this.beta.resolveShape([x.shape.at(-1)!]);
  }

  override forward(x: NDArray): NDArray {
    return layerNorm(x, this.gamma.value, this.beta.value, { epsilon: this.#epsilon });
  }
}

/** Divides the last axis by its root mean square. Source: Zhang and Sennrich, NeurIPS 2019. */
export class RMSNorm extends HybridBlock {
  gamma: Parameter = new Parameter({ shape: [null], init: ones });
  readonly #epsilon: number;

  constructor(options: NormOptions = {}) {
    super();
    this.#epsilon = options.epsilon ?? defaultEpsilon;
  }

  override inferShape(x: NDArray): void {
    this.gamma.resolveShape([x.shape.at(-1)!]);
  }

  override forward(x: NDArray): NDArray {
    return rmsNorm(x, this.gamma.value, { epsilon: this.#epsilon });
  }
}

/** Normalizes groups of channels of (batch, channels, ...space). Source: Wu and He, ECCV 2018. */
export class GroupNorm extends HybridBlock {
  gamma: Parameter = new Parameter({ shape: [null], init: ones });
  beta: Parameter = new Parameter({ shape: [null], init: zeros });
  readonly #groups: number;
  readonly #epsilon: number;

  constructor(groups: number, options: NormOptions = {}) {
    super();
    this.#groups = groups;
    this.#epsilon = options.epsilon ?? defaultEpsilon;
  }

  override inferShape(x: NDArray): void {
    this.gamma.resolveShape([x.shape[1]]);
    this.beta.resolveShape([x.shape[1]]);
  }

  override forward(x: NDArray): NDArray {
    return groupNorm(x, this.#groups, this.gamma.value, this.beta.value, {
      epsilon: this.#epsilon,
    });
  }
}
