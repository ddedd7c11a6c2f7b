import { ArgumentError, FormatError, TraceError, UnsupportedError } from '../../base/errors.js';
import * as autograd from '../../front/autograd/index.js';
import {
  type Capture,
  currentTrace,
  hostNumber,
  type HostNumber,
  isCapturing,
  noteFields,
  outsideCapture,
} from '../../front/capture.js';
import { array, zerosLike } from '../../front/creation.js';
import { hybridize } from '../../front/hybridize.js';
import { nameArray } from '../../front/names.js';
import type { NDArray } from '../../front/ndarray.js';
import type { Parameter } from '../parameter.js';

/** A learning rate, or a function from the number of steps taken so far to one. */
export type LearningRate = number | ((step: number) => number);

/** What every optimizer takes. */
export interface OptimizerOptions {
  /** By how much of the direction of a step weights move. */
  readonly learningRate: LearningRate;
  /** The share of each weight added to its gradient (or, in AdamW and Lion, taken off directly). Default 0. */
  readonly weightDecay?: number;
}

/** What the update of one parameter reads, and what it yields. */
export interface UpdateContext {
  /** The weight before the step. */
  readonly weight: NDArray;
  /** Its gradient. */
  readonly grad: NDArray;
  /** The optimizer's state for this parameter, by slot. */
  readonly slots: readonly NDArray[];
  /** What changes from step to step, as rank-0 float32 arrays: first the learning rate. */
  readonly hyper: readonly NDArray[];
}

/**
 * Moves parameters along their gradients. The update of all parameters is captured code: a step is one
 * compiled program that works on the parameters in place, or part of the program of whatever function it
 * is called in. The number of steps is state of that program, the learning rate an input of it.
 */
export abstract class Optimizer {
  readonly parameters: ReadonlyMap<string, Parameter>;
  protected readonly weightDecay: number;
  readonly #state: Map<Parameter, readonly NDArray[]> = new Map();
  readonly #count: NDArray = countArray();
  readonly #update: () => void = hybridize(() => this.#updateAll(), { verify: 'off' });
  /** The learning rates of the steps of one call, in order; usually there is one. */
  readonly #rates: HostNumber[] = [];
  /** How many steps a trace has taken so far. */
  readonly #traced: WeakMap<Capture, number> = new WeakMap();
  #learningRate: LearningRate;

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
  }

  /** How many zero-filled arrays of its own shape each parameter needs. */
  protected abstract readonly slotNames: readonly string[];

  /** The new weight, then the new slots. Written in operators. */
  protected abstract update(context: UpdateContext): readonly NDArray[];

  /** The gradient with coupled weight decay. */
  protected slope(weight: NDArray, grad: NDArray): NDArray {
    return this.weightDecay === 0 ? grad : grad.add(weight.mul(this.weightDecay));
  }

  /** What `hyper` holds beyond the learning rate; `step` is a rank-0 float64 array that counts from 1. */
  protected hyperparameters(_step: NDArray): readonly NDArray[] {
    return [];
  }

  /** The learning rate of the next step; may be set at any time, but not from captured code. */
  get learningRate(): number {
    this.#refuseTrace('read');
    return this.#rateAfter(0);
  }

  set learningRate(rate: LearningRate) {
    this.#refuseTrace('set');
    this.#learningRate = rate;
  }

  /** The number of steps taken. */
  get steps(): number {
    return Number(this.#count.item());
  }

  /** Updates every parameter from its gradient. An error, before anything changes, if one has none. */
  step(): void {
    for (const [name, parameter] of this.parameters) {
      if (parameter.grad !== null) continue;
      throw new ArgumentError(`parameter ${name} has no gradient`, {
        op: `${this.constructor.name}.step`,
        advice: 'initialize the network and run a backward pass before the step',
      });
    }
    autograd.pause(() => this.#update());
  }

  #updateAll(): void {
    // Hyperparameters that are fields: of optimizers that users write, and by those who write JavaScript.
    noteFields(this);
    const count = this.#count.add(1);
    const hyper = [
      hostNumber(this.#nextRate()),
      ...this.hyperparameters(count.astype('float64')).map((each) => each.astype('float32')),
    ];
    for (const parameter of this.parameters.values()) {
      const slots = this.#slots(parameter);
      const { value: weight, grad } = parameter;
      const [next, ...nextSlots] = this.update({ weight, grad: grad!, slots, hyper });
      parameter.assign(next);
      slots.forEach((slot, k) => slot.assign(nextSlots[k]));
    }
    this.#count.assign(count);
  }

  /** The learning rate of the step that captured code takes next. */
  #nextRate(): HostNumber {
    const trace = currentTrace();
    if (trace !== null && trace.parent !== null && typeof this.#learningRate === 'function') {
      throw new UnsupportedError(
        'a learning-rate schedule cannot follow the iterations of a loop',
        {
          op: `${this.constructor.name}.step`,
          advice: 'repeat in JavaScript, or give the optimizer a number as its learning rate',
        },
      );
    }
    const before = trace === null ? 0 : (this.#traced.get(trace) ?? 0);
    if (trace !== null) this.#traced.set(trace, before + 1);
    return (this.#rates[before] ??= {
      name: 'learning_rate',
      read: () => this.#rateAfter(before),
    });
  }

  #rateAfter(steps: number): number {
    const rate = this.#learningRate;
    return typeof rate === 'number' ? rate : rate(this.steps + steps);
  }

  #refuseTrace(what: string): void {
    if (!isCapturing()) return;
    throw new TraceError(`the learning rate was ${what} in captured code, which runs only once`, {
      op: `${this.constructor.name}.learningRate`,
      advice: 'do it outside of the captured function; each call sees the rate of its time',
    });
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
    return { arrays, steps: this.steps };
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
          op: `${this.constructor.name}.loadState`,
          expected: wanted.map(([key]) => key).join(', '),
          actual: [...state.arrays.keys()].join(', '),
        });
      }
    }
    for (const [name, slot] of wanted) slot.assign(state.arrays.get(name)!);
    this.#count.assign(array(BigInt64Array.of(BigInt(state.steps)), { shape: [] }));
  }

  #slots(parameter: Parameter): readonly NDArray[] {
    let slots = this.#state.get(parameter);
    if (slots === undefined) {
      slots = outsideCapture(() => this.slotNames.map(() => zerosLike(parameter.value)));
      slots.forEach((slot, k) => {
        slot.pin();
        nameArray(slot, () => `${parameter.name || 'parameter'}/${this.slotNames[k]}`);
      });
      this.#state.set(parameter, slots);
    }
    return slots;
  }
}

/** The number of steps taken, as state that captured code can count on. */
function countArray(): NDArray {
  const count = outsideCapture(() => array(0n));
  count.pin();
  nameArray(count, () => 'steps');
  return count;
}
