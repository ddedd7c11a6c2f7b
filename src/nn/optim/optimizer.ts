import { describe, type ValueRule } from '../../base/attributes/attribute.js';
import { sameShape } from '../../base/dim/index.js';
import { wideFloat } from '../../base/dtype.js';
import { ArgumentError, currentSource, FormatError, TraceError, UnsupportedError } from '../../base/errors.js'; // prettier-ignore
import {
  callable,
  checkArgument,
  checkOptions,
  eitherRule,
  nonNegative,
  type OptionRules,
  valueRule,
} from '../../base/attributes/options.js';
import * as autograd from '../../front/autograd/index.js';
import {
  type Capture,
  currentTrace,
  hostNumber,
  isCapturing,
  noteFields,
  outsideCapture,
} from '../../front/core/capture.js';
import type { HostNumber } from '../../front/core/host-number.js';
import { mode } from '../../front/core/mode.js';
import { array } from '../../front/arrays/creation.js';
import { GradientUser } from '../../front/capture/gradient-use.js';
import { hybridize } from '../../front/hybrid/hybridize.js';
import { nameArray } from '../../front/options/names.js';
import type { NDArray } from '../../front/core/ndarray.js';
import { fetchElements } from '../../front/devices/placing.js';
import { hasUsedGradients, isNewGradient, useGradient } from '../../front/dispatch/values.js';
import { typeToString } from '../../ir/program.js';
import type { Parameter } from '../parameter.js';
import { checkFrozen, checkParameterMap } from './parameters.js';
import { newSlots, type OptimizerState, readState } from './state.js';
import { anyStep } from './used.js';

/** A learning rate, or a function from the number of steps taken so far to one. */
export type LearningRate = number | ((step: number) => number);

/** Options of every optimizer. */
export interface OptimizerOptions {
  /** Scale of the step. */
  readonly learningRate: LearningRate;
  /**
   * The fraction of each weight that is added to its gradient (in AdamW and Lion: subtracted from the
   * weight). Default 0. Parameters with another decay or rate, such as biases without decay, get an optimizer of
   * their own.
   */
  readonly weightDecay?: number;
}

const schedule = valueRule<(step: number) => number>(
  'a function from the number of steps to such a number',
  (value): value is (step: number) => number => callable.accepts(value),
);
const learningRateRule: ValueRule<LearningRate> = eitherRule(nonNegative, schedule);

/** A number from 0 up to but not including 1: the decay of a running mean. */
export const decayRule: ValueRule<number> = valueRule(
  'a number of at least 0 and below 1',
  (value): value is number => typeof value === 'number' && value >= 0 && value < 1,
);

/** Rules of the options of every optimizer. */
export const optimizerRules: OptionRules<OptimizerOptions> = {
  learningRate: learningRateRule,
  weightDecay: nonNegative,
};

/** Inputs of the update of one parameter. */
export interface UpdateContext {
  /** The weight before the step; a float16 or bfloat16 one as float32. */
  readonly weight: NDArray;
  /** Its gradient, of the same dtype. */
  readonly grad: NDArray;
  /** The optimizer's state for this parameter, in the order of its slots. */
  readonly slots: readonly NDArray[];
  /** Hyperparameters that change from step to step, as rank-0 float32 arrays: first the learning rate. */
  readonly hyper: readonly NDArray[];
}

/**
 * Updates parameters from their gradients, using each gradient once: a parameter whose gradient no backward
 * pass has written since the last step keeps its value and its state. Weights of float16 and bfloat16 are
 * updated in float32, which is also the dtype of their state, and rounded once.
 *
 * The update of all parameters is captured code: a step is one compiled program that works on the parameters
 * in place, or part of the program of the function it is called in. The number of steps is state of that
 * program, the learning rate an input of it.
 */
export abstract class Optimizer {
  readonly parameters: ReadonlyMap<string, Parameter>;
  protected readonly weightDecay: number;
  readonly #state: Map<Parameter, readonly NDArray[]> = new Map();
  readonly #count: NDArray = countArray('steps', 0n);
  /** Update count of each parameter; null when nothing depends on it. */
  /** The parameters that had no gradient when this was made: state, and those that were frozen. */
  readonly #untrained: readonly (readonly [string, Parameter])[];
  readonly #updates: NDArray | null;
  readonly #user: GradientUser;
  readonly #update: () => void = hybridize(() => this.#updateAll(), { verify: 'off' });
  /** The learning rates of the steps of one call, in order; usually there is one. */
  readonly #rates: HostNumber[] = [];
  /** Steps taken so far in each trace. */
  readonly #traced: WeakMap<Capture, number> = new WeakMap();
  #learningRate: LearningRate;

  /**
   * @param rules Accepted options; others are refused. Default: none.
   * @throws ArgumentError for parameters that are not a map of parameters or none of which is trained, and
   * for invalid options.
   */
  constructor(
    parameters: ReadonlyMap<string, Parameter>,
    options: OptimizerOptions,
    rules?: OptionRules<OptimizerOptions>,
  ) {
    const op = new.target.name;
    checkParameterMap(op, parameters);
    if (rules !== undefined) checkOptions(op, options, rules);
    checkArgument(op, 'learningRate', options.learningRate, learningRateRule);
    if (options.weightDecay !== undefined) {
      checkArgument(op, 'weightDecay', options.weightDecay, nonNegative);
    }
    const isTrained = ([, { gradReq }]: readonly [string, Parameter]): boolean =>
      gradReq !== 'null';
    this.parameters = new Map([...parameters].filter(isTrained));
    this.#untrained = [...parameters].filter((entry) => !isTrained(entry));
    if (this.parameters.size === 0) {
      throw new ArgumentError('there is nothing to train', {
        op,
        expected: 'parameters whose gradReq is not null',
        actual: `${parameters.size} parameters`,
      });
    }
    this.#learningRate = options.learningRate;
    this.weightDecay = options.weightDecay ?? 0;
    this.#user = new GradientUser(`${op}.step`);
    const counts = this.hyperparameters !== Optimizer.prototype.hyperparameters;
    this.#updates = counts ? countArray('updates', new BigInt64Array(this.parameters.size)) : null;
  }

  /** Names of the state arrays of each parameter, which have its shape and start at zero. */
  protected abstract readonly slotNames: readonly string[];

  /** The new weight, then the new slots. Written in operators. */
  protected abstract update(context: UpdateContext): readonly NDArray[];

  /** The gradient plus coupled weight decay. */
  protected slope(weight: NDArray, grad: NDArray): NDArray {
    return this.weightDecay === 0 ? grad : grad.add(weight.mul(this.weightDecay));
  }

  /**
   * Entries of `hyper` after the learning rate, for all parameters at once: elementwise functions of a
   * float64 array with the update count of each parameter, this step included.
   */
  protected hyperparameters(_updates: NDArray): readonly NDArray[] {
    return [];
  }

  /** The learning rate of the next step; may be set at any time, but not from captured code. */
  get learningRate(): number {
    this.#refuseTrace('read');
    return this.#rateAfter(0);
  }

  set learningRate(rate: LearningRate) {
    this.#refuseTrace('set');
    checkArgument(this.constructor.name, 'learningRate', rate, learningRateRule);
    this.#learningRate = rate;
  }

  /** Moves what it keeps to the CPU, where the parameters have been moved by `await net.cpu()`. */
  async cpu(): Promise<this> {
    const counts = this.#updates === null ? [this.#count] : [this.#count, this.#updates];
    for (const kept of [...counts, ...[...this.#state.values()].flat()]) await fetchElements(kept);
    return this;
  }

  /** The number of steps taken. A step without new gradients does not count. */
  get steps(): number {
    return Number(this.#count.item());
  }

  /**
   * Updates every parameter whose gradient a backward pass has written since the last step; the others keep
   * their value and state. Without new gradients nothing happens.
   *
   * @throws ArgumentError, before anything changes, if no backward pass has written any gradient yet, or if a
   * parameter is trained now whose gradReq was null when the optimizer was made.
   * @throws UnsupportedError in captured code, if only the data decides whether a gradient is new.
   */
  step(): void {
    checkFrozen(`${this.constructor.name}.step`, this.#untrained);
    if (this.#toUpdate().size > 0) return autograd.pause(() => this.#update());
    if (hasUsedGradients(this.#user)) return;
    const [name] = this.parameters.keys();
    throw new ArgumentError(`parameter ${name} has no gradient, nor has any other`, {
      op: `${this.constructor.name}.step`,
      advice: 'initialize the network and run a backward pass before the step',
    });
  }

  /** The parameters with an unused gradient, by their position among all. */
  #toUpdate(): ReadonlyMap<number, Parameter> {
    const found = new Map<number, Parameter>();
    let at = 0;
    for (const parameter of this.parameters.values()) {
      if (parameter.isInitialized && isNewGradient(parameter.value, this.#user)) {
        found.set(at, parameter);
      }
      at++;
    }
    return found;
  }

  #updateAll(): void {
    // Fields that are hyperparameters: of user-defined optimizers, and in JavaScript.
    noteFields(this);
    const toUpdate = this.#toUpdate();
    const rate = hostNumber(this.#nextRate());
    const shared = this.#sharedHyper(toUpdate);
    const line = mode.capture === null ? null : (currentSource() ?? null);
    for (const [at, parameter] of toUpdate) {
      const slots = this.#slots(parameter);
      const { value, dtype } = parameter;
      const wide = wideFloat(dtype);
      const [next, ...nextSlots] = this.update({
        weight: value.astype(wide),
        grad: parameter.grad!.astype(wide),
        slots,
        hyper: [rate, ...shared.map((each) => each.slice(at))],
      });
      parameter.assign(next.astype(dtype));
      slots.forEach((slot, k) => slot.assign(nextSlots[k]));
      for (const user of [this.#user, anyStep]) useGradient(value, user);
      // An update that is not the user's code has no lines of its own: those after the first need not be found.
      if (line !== null && next.origin?.source === line) mode.source = line;
    }
    this.#count.assign(this.#count.add(1));
  }

  /** The hyperparameters that depend on the update count, for all parameters. Increments the counts. */
  #sharedHyper(toUpdate: ReadonlyMap<number, Parameter>): readonly NDArray[] {
    if (this.#updates === null) return [];
    const all = this.parameters.size;
    const added = BigInt64Array.from({ length: all }, (_, at) => (toUpdate.has(at) ? 1n : 0n));
    const updates = this.#updates.add(toUpdate.size === all ? 1 : added);
    this.#updates.assign(updates);
    return this.hyperparameters(updates.astype('float64')).map((each) => each.astype('float32'));
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
      varies: () => typeof this.#learningRate === 'function',
    });
  }

  #rateAfter(steps: number): number {
    if (typeof this.#learningRate === 'number') return this.#learningRate;
    const at = this.steps + steps;
    const rate: unknown = this.#learningRate(at);
    if (nonNegative.accepts(rate)) return rate;
    throw new ArgumentError(`the learning-rate schedule gave no rate for step ${at}`, {
      op: `${this.constructor.name}.step`,
      expected: nonNegative.expected,
      actual: describe(rate),
    });
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

  /**
   * State for a checkpoint: the slots by `parameter/slot`, and the number of steps. A parameter that missed
   * some of the steps has its own count, `parameter/updates`.
   */
  state(): OptimizerState {
    const { steps } = this;
    const arrays = this.#slotArrays();
    const updates = this.#updates?.dataSync() ?? [];
    [...this.parameters.keys()].forEach((name, at) => {
      if (at >= updates.length || Number(updates[at]) === steps) return;
      arrays.set(
        `${name}/${updatesName}`,
        array(BigInt64Array.of(BigInt(updates[at])), { shape: [] }),
      );
    });
    return { arrays, steps };
  }

  #slotArrays(): Map<string, NDArray> {
    const arrays = new Map<string, NDArray>();
    for (const [name, parameter] of this.parameters) {
      this.#slots(parameter).forEach((slot, k) => arrays.set(`${name}/${this.slotNames[k]}`, slot));
    }
    return arrays;
  }

  /**
   * Restores the result of `state`.
   *
   * @throws FormatError if anything is missing or of another type. Nothing changes then.
   */
  loadState(state: OptimizerState): void {
    this.checkState(state);
    for (const [name, slot] of this.#slotArrays()) slot.assign(state.arrays.get(name)!);
    this.#count.assign(array(BigInt64Array.of(BigInt(state.steps)), { shape: [] }));
    const counts = [...this.parameters.keys()].map((name) =>
      BigInt(Number(state.arrays.get(`${name}/${updatesName}`)?.item() ?? state.steps)),
    );
    this.#updates?.assign(array(BigInt64Array.from(counts)));
  }

  /** @internal Throws the errors of `loadState` without loading. */
  checkState(state: OptimizerState): void {
    const op = `${this.constructor.name}.loadState`;
    const { arrays, steps } = readState(op, state);
    const wanted = this.#slotArrays();
    for (const [name, slot] of wanted) {
      const given = arrays.get(name);
      if (given === undefined) {
        throw new FormatError(`the optimizer's state has no ${name}`, {
          op,
          expected: [...wanted.keys()].join(', '),
          actual: [...arrays.keys()].join(', '),
        });
      }
      if (given.dtype === slot.dtype && sameShape(given.shape, slot.shape)) continue;
      throw new FormatError(`${name} in the optimizer's state is of another type`, {
        op,
        expected: typeToString(slot.type),
        actual: typeToString(given.type),
      });
    }
    if (Number.isSafeInteger(steps) && steps >= 0) return;
    throw new FormatError("the optimizer's state has no number of steps", {
      op,
      expected: 'a whole number of at least 0',
      actual: describe(steps),
    });
  }

  #slots(parameter: Parameter): readonly NDArray[] {
    let slots = this.#state.get(parameter);
    if (slots === undefined) {
      slots = newSlots(parameter, this.slotNames);
      this.#state.set(parameter, slots);
    }
    return slots;
  }
}

/** Name of the update count in saved state, beside the names of slots. */
const updatesName = 'updates';

/** One or several step counts as state that captured code can increment. */
function countArray(name: string, start: bigint | BigInt64Array): NDArray {
  const count = outsideCapture(() => array(start));
  count.pin();
  nameArray(count, () => name);
  return count;
}
