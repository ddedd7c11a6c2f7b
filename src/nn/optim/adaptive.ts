import { nonNegative, type OptionRules } from '../../base/attributes/options.js';
import type { NDArray } from '../../front/core/ndarray.js';
import type { Parameter } from '../parameter.js';
import {
  decayRule,
  Optimizer,
  type OptimizerOptions,
  optimizerRules,
  type UpdateContext,
} from './optimizer.js';

/** Options of `RMSProp`. */
export interface RMSPropOptions extends OptimizerOptions {
  /** Decay of the mean of squared gradients. Default 0.99. */
  readonly decay?: number;
  /** Added to the root of the mean. Default 1e-8. */
  readonly epsilon?: number;
}

const rmsPropRules: OptionRules<RMSPropOptions> = {
  ...optimizerRules,
  decay: decayRule,
  epsilon: nonNegative,
};

/** Divides by a running root mean square of the gradients. Source: Tieleman and Hinton, 2012. */
export class RMSProp extends Optimizer {
  static override readonly name: string = 'RMSProp';
  protected readonly slotNames: readonly string[] = ['square'];
  readonly #decay: number;
  readonly #epsilon: number;

  constructor(parameters: ReadonlyMap<string, Parameter>, options: RMSPropOptions) {
    super(parameters, options, rmsPropRules);
    this.#decay = options.decay ?? 0.99;
    this.#epsilon = options.epsilon ?? 1e-8;
  }

  protected override update({
    weight,
    grad,
    slots,
    hyper: [rate],
  }: UpdateContext): readonly NDArray[] {
    const slope = this.slope(weight, grad);
    const square = slots[0].mul(this.#decay).add(slope.square().mul(1 - this.#decay));
    return [weight.sub(slope.mul(rate).div(square.sqrt().add(this.#epsilon))), square];
  }
}

/** Options of `Adagrad`. */
export interface AdagradOptions extends OptimizerOptions {
  /** Added to the root of the sum. Default 1e-10. */
  readonly epsilon?: number;
}

const adagradRules: OptionRules<AdagradOptions> = { ...optimizerRules, epsilon: nonNegative };

/** Divides by the root of the sum of all squared gradients. Source: Duchi, Hazan and Singer, JMLR 2011. */
export class Adagrad extends Optimizer {
  static override readonly name: string = 'Adagrad';
  protected readonly slotNames: readonly string[] = ['sum'];
  readonly #epsilon: number;

  constructor(parameters: ReadonlyMap<string, Parameter>, options: AdagradOptions) {
    super(parameters, options, adagradRules);
    this.#epsilon = options.epsilon ?? 1e-10;
  }

  protected override update({
    weight,
    grad,
    slots,
    hyper: [rate],
  }: UpdateContext): readonly NDArray[] {
    const slope = this.slope(weight, grad);
    const total = slots[0].add(slope.square());
    return [weight.sub(slope.mul(rate).div(total.sqrt().add(this.#epsilon))), total];
  }
}

/** Options of `Lion`. */
export interface LionOptions extends OptimizerOptions {
  /** Weight of the momentum in the direction of a step. Default 0.9. */
  readonly beta1?: number;
  /** Decay of the momentum. Default 0.99. */
  readonly beta2?: number;
}

const lionRules: OptionRules<LionOptions> = {
  ...optimizerRules,
  beta1: decayRule,
  beta2: decayRule,
};

/** Steps by the sign of a momentum; weight decay is decoupled. Source: Chen et al., NeurIPS 2023. */
export class Lion extends Optimizer {
  static override readonly name: string = 'Lion';
  protected readonly slotNames: readonly string[] = ['momentum'];
  readonly #beta1: number;
  readonly #beta2: number;

  constructor(parameters: ReadonlyMap<string, Parameter>, options: LionOptions) {
    super(parameters, options, lionRules);
    this.#beta1 = options.beta1 ?? 0.9;
    this.#beta2 = options.beta2 ?? 0.99;
  }

  protected override update({
    weight,
    grad,
    slots,
    hyper: [rate],
  }: UpdateContext): readonly NDArray[] {
    const direction = slots[0]
      .mul(this.#beta1)
      .add(grad.mul(1 - this.#beta1))
      .sign();
    const step = direction.add(weight.mul(this.weightDecay)).mul(rate);
    return [weight.sub(step), slots[0].mul(this.#beta2).add(grad.mul(1 - this.#beta2))];
  }
}
