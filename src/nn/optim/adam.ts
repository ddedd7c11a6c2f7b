import { nonNegative, type OptionRules } from '../../base/attributes/options.js';
import { pow } from '../../ops/index.js';
import type { NDArray } from '../../front/core/ndarray.js';
import type { Parameter } from '../parameter.js';
import {
  decayRule,
  Optimizer,
  type OptimizerOptions,
  optimizerRules,
  type UpdateContext,
} from './optimizer.js';

/** Options of `Adam` and `AdamW`. */
export interface AdamOptions extends OptimizerOptions {
  /** Decay of the mean of gradients. Default 0.9. */
  readonly beta1?: number;
  /** Decay of the mean of squared gradients. Default 0.999. */
  readonly beta2?: number;
  /** Added to the root of the second moment. Default 1e-8. */
  readonly epsilon?: number;
}

const rules: OptionRules<AdamOptions> = {
  ...optimizerRules,
  beta1: decayRule,
  beta2: decayRule,
  epsilon: nonNegative,
};

/** Adam. Source: Kingma and Ba, ICLR 2015. Weight decay is added to the gradient. */
export class Adam extends Optimizer {
  static override readonly name: string = 'Adam';
  protected readonly slotNames: readonly string[] = ['mean', 'variance'];
  readonly #beta1: number;
  readonly #beta2: number;
  readonly #epsilon: number;

  constructor(parameters: ReadonlyMap<string, Parameter>, options: AdamOptions) {
    super(parameters, options, rules);
    this.#beta1 = options.beta1 ?? 0.9;
    this.#beta2 = options.beta2 ?? 0.999;
    this.#epsilon = options.epsilon ?? 1e-8;
  }

  /** Bias corrections of the moments, which start from zero. */
  protected override hyperparameters(updates: NDArray): readonly NDArray[] {
    return [this.#beta1, this.#beta2].map((beta) => pow(beta, updates).neg().add(1).reciprocal());
  }

  /** The weight before the step, after decoupled weight decay. */
  protected decayed(weight: NDArray, _rate: NDArray): NDArray {
    return weight;
  }

  protected override update({ weight, grad, slots, hyper }: UpdateContext): readonly NDArray[] {
    const [rate, meanCorrection, varianceCorrection] = hyper;
    const slope = this.slope(weight, grad);
    const mean = slots[0].mul(this.#beta1).add(slope.mul(1 - this.#beta1));
    const variance = slots[1].mul(this.#beta2).add(slope.square().mul(1 - this.#beta2));
    const scale = variance.mul(varianceCorrection).sqrt().add(this.#epsilon);
    const step = mean.mul(meanCorrection).div(scale).mul(rate);
    return [this.decayed(weight, rate).sub(step), mean, variance];
  }
}

/** Adam with decoupled weight decay. Source: Loshchilov and Hutter, ICLR 2019. Default decay 0.01. */
export class AdamW extends Adam {
  static override readonly name: string = 'AdamW';
  constructor(parameters: ReadonlyMap<string, Parameter>, options: AdamOptions) {
    super(parameters, withDecay(options));
  }

  protected override slope(_weight: NDArray, grad: NDArray): NDArray {
    return grad;
  }

  protected override decayed(weight: NDArray, rate: NDArray): NDArray {
    return weight.sub(weight.mul(rate.mul(this.weightDecay)));
  }
}

/** Adds the default decay; a value that is not an object is left for the check of options. */
function withDecay(options: AdamOptions): AdamOptions {
  const isObject = typeof options === 'object' && options !== null && !Array.isArray(options);
  return isObject && options.weightDecay === undefined
    ? { ...options, weightDecay: 0.01 }
    : options;
}
