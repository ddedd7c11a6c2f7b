import {
  checkArgument,
  checkOptions,
  flag,
  fraction,
  integer,
  nonNegative,
  type OptionRules,
} from '../../base/attributes/options.js';
import { isStatic } from '../../base/dim/index.js';
import { ShapeError } from '../../base/errors.js';
import { isNarrowFloat } from '../../base/dtype.js';
import { pause, isTraining } from '../../front/autograd/index.js';
import type { NDArray } from '../../front/core/ndarray.js';
import { extentsOf } from '../../front/dispatch/traced-shape.js';
import {
  cast,
  div,
  groupNorm,
  instanceNorm,
  layerNorm,
  maximum,
  prod,
  rmsNorm,
  shapeOf,
  sub,
  take,
} from '../../ops/index.js';
import { defaultEpsilon } from '../../ops/normalization/affine.js';
import { HybridBlock } from '../block.js';
import { ones, zeros } from '../initializer.js';
import { Parameter } from '../parameter.js';
import { checkInput } from '../input.js';
import { count } from './options.js';

/** Options of `BatchNorm`. */
export interface BatchNormOptions {
  /** The axis of the channels. Default 1. */
  readonly axis?: number;
  /** The fraction of the old statistics that each training batch keeps. Default 0.9. */
  readonly momentum?: number;
  /** Added to the variance. Default 1e-5. */
  readonly epsilon?: number;
}

const batchNormRules: OptionRules<BatchNormOptions> = {
  axis: integer,
  momentum: fraction,
  epsilon: nonNegative,
};

/**
 * Normalizes each channel by the statistics of the batch when training, and by the running ones otherwise:
 * `running = momentum * running + (1 - momentum) * batch`, where `batch` is the mean and the unbiased
 * variance (divided by n - 1). The batch itself is normalized by the biased variance. Source: Ioffe and
 * Szegedy, ICML 2015.
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
    checkOptions('BatchNorm', options, batchNormRules);
    this.#axis = options.axis ?? 1;
    this.#momentum = options.momentum ?? 0.9;
    this.#epsilon = options.epsilon ?? defaultEpsilon;
  }

  override inferShape(x: NDArray): void {
    checkInput(this, 'x', x);
    for (const parameter of [this.gamma, this.beta, this.runningMean, this.runningVariance]) {
      parameter.resolveShape([x.shape.at(this.#axis)!]);
    }
  }

  override forward(given: NDArray): NDArray {
    checkInput(this, 'x', given);
    // Batch and running statistics are float32 for 16-bit floats.
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
      this.#remember(mean, variance, bessel(x, others));
    }
    const scale = variance.add(this.#epsilon).rsqrt().mul(perChannel(this.gamma));
    return x.sub(mean).mul(scale).add(perChannel(this.beta));
  }

  #remember(mean: NDArray, variance: NDArray, correction: number | NDArray): void {
    const update = (running: Parameter, batch: NDArray): void => {
      const kept = running.value.mul(this.#momentum);
      const moved = kept.add(batch.reshape(running.value.shape).mul(1 - this.#momentum));
      // The running statistics stay float32 for float64 inputs.
      running.assign(moved.astype(running.dtype));
    };
    pause(() => {
      update(this.runningMean, mean.detach());
      update(this.runningVariance, variance.detach().mul(correction));
    });
  }
}

/**
 * Bessel's correction n / (n - 1), which makes the variance of a channel unbiased. Where only a running graph
 * knows n, a single element, which has no variance, leaves it zero.
 */
function bessel(x: NDArray, axes: readonly number[]): number | NDArray {
  const extents = extentsOf(x).filter((_, axis) => axes.includes(axis));
  if (extents.every(isStatic)) {
    const count = extents.reduce((product, extent) => product * extent, 1);
    if (count > 1) return count / (count - 1);
    throw new ShapeError('a channel of one element has no variance to train with', {
      op: 'BatchNorm',
      expected: 'two elements or more in each channel of a batch',
      actual: `[${x.shape.join(', ')}]`,
      advice: 'leave out a last, smaller batch (dropLast), or call it in predict mode',
    });
  }
  const sizes = take<NDArray>(shapeOf(x), [...axes]);
  const count = cast(prod(sizes), x.dtype === 'float64' ? 'float64' : 'float32');
  return div(count, maximum(sub(count, 1), 1));
}

/** Options of the other normalization layers. */
export interface NormOptions {
  /** Added to the variance. Default 1e-5. */
  readonly epsilon?: number;
}

const normRules: OptionRules<NormOptions> = { epsilon: nonNegative };

/** Normalizes the last axis. Source: Ba, Kiros and Hinton, 2016. */
export class LayerNorm extends HybridBlock {
  gamma: Parameter = new Parameter({ shape: [null], init: ones });
  beta: Parameter = new Parameter({ shape: [null], init: zeros });
  readonly #epsilon: number;

  constructor(options: NormOptions = {}) {
    super();
    checkOptions('LayerNorm', options, normRules);
    this.#epsilon = options.epsilon ?? defaultEpsilon;
  }

  override inferShape(x: NDArray): void {
    checkInput(this, 'x', x);
    this.gamma.resolveShape([x.shape.at(-1)!]);
    this.beta.resolveShape([x.shape.at(-1)!]);
  }

  override forward(x: NDArray): NDArray {
    checkInput(this, 'x', x);
    return layerNorm(x, this.gamma.value, this.beta.value, { epsilon: this.#epsilon });
  }
}

/** Divides the last axis by its root mean square. Source: Zhang and Sennrich, NeurIPS 2019. */
export class RMSNorm extends HybridBlock {
  gamma: Parameter = new Parameter({ shape: [null], init: ones });
  readonly #epsilon: number;

  constructor(options: NormOptions = {}) {
    super();
    checkOptions('RMSNorm', options, normRules);
    this.#epsilon = options.epsilon ?? defaultEpsilon;
  }

  override inferShape(x: NDArray): void {
    checkInput(this, 'x', x);
    this.gamma.resolveShape([x.shape.at(-1)!]);
  }

  override forward(x: NDArray): NDArray {
    checkInput(this, 'x', x);
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
    checkArgument('GroupNorm', 'groups', groups, count);
    checkOptions('GroupNorm', options, normRules);
    this.#groups = groups;
    this.#epsilon = options.epsilon ?? defaultEpsilon;
  }

  override inferShape(x: NDArray): void {
    checkInput(this, 'x', x);
    this.gamma.resolveShape([x.shape[1]]);
    this.beta.resolveShape([x.shape[1]]);
  }

  override forward(x: NDArray): NDArray {
    checkInput(this, 'x', x);
    return groupNorm(x, this.#groups, this.gamma.value, this.beta.value, {
      epsilon: this.#epsilon,
    });
  }
}

/** Options of `InstanceNorm`. */
export interface InstanceNormOptions extends NormOptions {
  /** Learn a scale and a shift for each channel. Default true. */
  readonly affine?: boolean;
}

/**
 * Normalizes each channel of each example of (batch, channels, ...space) over space, in training and otherwise:
 * there are no running statistics. Source: Ulyanov, Vedaldi and Lempitsky, 2016.
 */
export class InstanceNorm extends HybridBlock {
  gamma: Parameter | null = null;
  beta: Parameter | null = null;
  readonly #epsilon: number;

  constructor(options: InstanceNormOptions = {}) {
    super();
    checkOptions<InstanceNormOptions>('InstanceNorm', options, { ...normRules, affine: flag });
    this.#epsilon = options.epsilon ?? defaultEpsilon;
    if (!(options.affine ?? true)) return;
    this.gamma = new Parameter({ shape: [null], init: ones });
    this.beta = new Parameter({ shape: [null], init: zeros });
  }

  override inferShape(x: NDArray): void {
    checkInput(this, 'x', x);
    this.gamma?.resolveShape([x.shape[1]]);
    this.beta?.resolveShape([x.shape[1]]);
  }

  override forward(x: NDArray): NDArray {
    checkInput(this, 'x', x);
    const [gamma, beta] = [this.gamma?.value, this.beta?.value];
    return instanceNorm(x, gamma, beta, { epsilon: this.#epsilon });
  }
}
