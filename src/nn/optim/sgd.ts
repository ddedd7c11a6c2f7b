import type { NDArray } from '../../front/ndarray.js';
import type { Parameter } from '../parameter.js';
import { Optimizer, type OptimizerOptions, type UpdateContext } from './optimizer.js';

/** What `SGD` takes besides what every optimizer does. */
export interface SGDOptions extends OptimizerOptions {
  /** The share of the last step that is kept. Default 0. */
  readonly momentum?: number;
  /** Nesterov's form of momentum. Default false. */
  readonly nesterov?: boolean;
}

/** Stochastic gradient descent with momentum, as PyTorch defines it: v = m v + g; w -= rate v. */
export class SGD extends Optimizer {
  protected readonly slotNames: readonly string[];
  readonly #momentum: number;
  readonly #nesterov: boolean;

  constructor(parameters: ReadonlyMap<string, Parameter>, options: SGDOptions) {
    super(parameters, options);
    this.#momentum = options.momentum ?? 0;
    this.#nesterov = options.nesterov ?? false;
    this.slotNames = this.#momentum === 0 ? [] : ['momentum'];
  }

  protected override update({
    weight,
    grad,
    slots,
    hyper: [rate],
  }: UpdateContext): readonly NDArray[] {
    const slope = this.slope(weight, grad);
    if (slots.length === 0) return [weight.sub(slope.mul(rate))];
    const velocity = slots[0].mul(this.#momentum).add(slope);
    const direction = this.#nesterov ? slope.add(velocity.mul(this.#momentum)) : velocity;
    return [weight.sub(direction.mul(rate)), velocity];
  }
}
