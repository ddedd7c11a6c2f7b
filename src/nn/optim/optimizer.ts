import { ArgumentError, FormatError, UnsupportedError } from '../../base/errors.js';
import * as autograd from '../../front/autograd/index.js';
import { isCapturing, outsideCapture } from '../../front/capture.js';
import { array, zerosLike } from '../../front/creation.js';
import { hybridize } from '../../front/hybridize.js';
import type { NDArray } from '../../front/ndarray.js';
import type { Parameter } from '../parameter.js';

/** A learning rate, or a function from the number of steps taken so far to one. */
export type LearningRate = number | ((step: number) => number);

export interface OptimizerOptions {
  readonly learningRate: LearningRate;
  /** The share of each weight added to its gradient (or, in AdamW and Lion, taken off directly). Default 0. */
  readonly weightDecay?: number;
}

/** What the update of one parameter reads, and what it yields. */
export interface UpdateContext {
  readonly weight: NDArray;
  readonly grad: NDArray;
  /** The optimizer's state for this parameter, by slot. */
  readonly slots: readonly NDArray[];
  /** The numbers that change from step to step, as rank-0 float32 arrays: first the learning rate. */
  readonly hyper: readonly NDArray[];
}

/**
 * Moves parameters along their gradients. The update of all parameters is one captured function, so a
 * step is one compiled program whatever the number of parameters.
 */
export abstract class Optimizer {
  readonly parameters: ReadonlyMap<string, Parameter>;
  protected readonly weightDecay: number;
  readonly #state: Map<Parameter, readonly NDArray[]> = new Map();
  readonly #update: (tree: UpdateTree) => readonly (readonly NDArray[])[];
  #learningRate: LearningRate;
  #steps = 0;

  constructor(parameters: ReadonlyMap<string, Parameter>, options: OptimizerOptions) {
    this.parameters = new Map(
      [...parameters].filter(([, parameter]) => parameter.gradReq !== 'null'),
    );
    if (this.parameters.size === 0) {
      throw new ArgumentError('there is nothing to train', {
        op: new.target.name,
        expected: 'parameters whose gradReq is not null',
        actual: `${parameters.size} parameters`,
      });
    }
    this.#learningRate = options.learningRate;
    this.weightDecay = options.weightDecay ?? 0;
    this.#update = hybridize(({ items, hyper }: UpdateTree) =>
      items.map(([weight, grad, ...slots]) => this.update({ weight, grad, slots, hyper })),
    );
  }

  /** How many zero-filled arrays of its own shape each parameter needs. */
  protected abstract readonly slotNames: readonly string[];

  /** The new weight, then the new slots. Written in operators. */
  protected abstract update(context: UpdateContext): readonly NDArray[];

  /** The gradient with coupled weight decay. */
  protected slope(weight: NDArray, grad: NDArray): NDArray {
    return this.weightDecay === 0 ? grad : grad.add(weight.mul(this.weightDecay));
  }

  /** Numbers for `hyper` beyond the learning rate; `step` counts from 1. */
  protected hyperparameters(_step: number): readonly number[] {
    return [];
  }

  /** The learning rate of the next step; may be set at any time. */
  get learningRate(): number {
    return typeof this.#learningRate === 'number'
      ? this.#learningRate
      : this.#learningRate(this.#steps);
  }

  set learningRate(rate: LearningRate) {
    this.#learningRate = rate;
  }

  /** The number of steps taken. */
  get steps(): number {
    return this.#steps;
  }

  /** Updates every parameter from its gradient. An error, before anything changes, if one has none. */
  step(): void {
    if (isCapturing()) {
      // The learning rate and the number of steps would be frozen in the graph.
      throw new UnsupportedError('an optimizer cannot step inside captured code yet', {
        op: `${this.constructor.name}.step`,
        advice: 'hybridize the network, and call step() outside of the captured function',
      });
    }
    const trained = [...this.parameters].map(([name, parameter]) => {
      const { grad } = parameter;
      if (grad === null) {
        throw new ArgumentError(`parameter ${name} has no gradient`, {
          op: `${this.constructor.name}.step`,
          advice: 'initialize the network and run a backward pass before the step',
        });
      }
      return { parameter, grad };
    });
    const numbers = [this.learningRate, ...this.hyperparameters(this.#steps + 1)];
    autograd.pause(() => {
      const items = trained.map(({ parameter, grad }) => [
        parameter.value,
        grad,
        ...this.#slots(parameter),
      ]);
      const hyper = numbers.map((value) => array(value, { dtype: 'float32' }));
      const updated = this.#update({ items, hyper });
      trained.forEach(({ parameter }, i) => {
        const [weight, ...slots] = updated[i];
        parameter.assign(weight);
        this.#slots(parameter).forEach((slot, k) => slot.assign(slots[k]));
      });
    });
    this.#steps++;
  }

  /** Sets all gradients to zeros; needed only for parameters whose gradReq is `add`. */
  zeroGrad(): void {
    for (const parameter of this.parameters.values()) parameter.zeroGrad();
  }

  /** Everything a checkpoint needs: the slots by `parameter/slot`, and the number of steps. */
  state(): { readonly arrays: ReadonlyMap<string, NDArray>; readonly steps: number } {
    const arrays = new Map<string, NDArray>();
    for (const [name, parameter] of this.parameters) {
      this.#slots(parameter).forEach((slot, k) => arrays.set(`${name}/${this.slotNames[k]}`, slot));
    }
    return { arrays, steps: this.#steps };
  }

  /** Takes back what `state` gave. Nothing changes if anything is missing. */
  loadState(state: {
    readonly arrays: ReadonlyMap<string, NDArray>;
    readonly steps: number;
  }): void {
    const wanted = [...this.state().arrays];
    for (const [name] of wanted) {
      if (!state.arrays.has(name)) {
        throw new FormatError(`the optimizer's state has no ${name}`, {
          expected: wanted.map(([key]) => key).join(', '),
          actual: [...state.arrays.keys()].join(', '),
        });
      }
    }
    for (const [name, slot] of wanted) slot.assign(state.arrays.get(name)!);
    this.#steps = state.steps;
  }

  #slots(parameter: Parameter): readonly NDArray[] {
    let slots = this.#state.get(parameter);
    if (slots === undefined) {
      slots = outsideCapture(() => this.slotNames.map(() => zerosLike(parameter.value)));
      for (const slot of slots) slot.pin();
      this.#state.set(parameter, slots);
    }
    return slots;
  }
}

interface UpdateTree {
  readonly items: readonly (readonly NDArray[])[];
  readonly hyper: readonly NDArray[];
}
