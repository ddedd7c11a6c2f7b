import { ArgumentError } from '../../base/errors.js';
import { flag, fraction, type OptionRules } from '../../base/attributes/options.js';
import type { NDArray } from '../../front/core/ndarray.js';
import type { Parameter } from '../parameter.js';
import {
  Optimizer,
  type OptimizerOptions,
  optimizerRules,
  type UpdateContext,
} from './optimizer.js';

/** Options of `SGD`. */
export interface SGDOptions extends OptimizerOptions {
  /** The fraction of the last step that is kept. Default 0. */
  readonly momentum?: number;
  /** Nesterov's form of momentum. Default false. */
  readonly nesterov?: boolean;
}

const rules: OptionRules<SGDOptions> = { ...optimizerRules, momentum: fraction, nesterov: flag };

/** Stochastic gradient descent with momentum, as PyTorch defines it: v = m v + g; w -= rate v. */
export class SGD extends Optimizer {
  static override readonly name: string = 'SGD';
  protected readonly slotNames: readonly string[];
  readonly #momentum: number;
  readonly #nesterov: boolean;

  constructor(parameters: ReadonlyMap<string, Parameter>, options: SGDOptions) {
    super(parameters, options, rules);
    this.#momentum = options.momentum ?? 0;
    this.#nesterov = options.nesterov ?? false;
    if (this.#nesterov && this.#momentum === 0) {
      throw new ArgumentError('nesterov needs a momentum', {
        op: new.target.name,
        expected: 'a momentum above 0 where nesterov is true',
        actual: `momentum ${this.#momentum}`,
      });
    }
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
