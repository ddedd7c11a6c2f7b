import { zeros as zeroArray } from '../../front/arrays/creation.js';
import { checkOptions, type OptionRules } from '../../base/attributes/options.js';
import type { NDArray } from '../../front/core/ndarray.js';
import { placedBeside } from '../../front/devices/placing.js';
import { sigmoid, split, tanh, turnedProduct } from '../../ops/index.js';
import { HybridBlock } from '../block.js';
import { xavier } from '../initializer.js';
import { Parameter } from '../parameter.js';
import { type Activation, activationFunction } from './activation.js';
import { checkInput, checkStates } from '../input.js';
import { activation, checkSize, inputSize } from './options.js';

export interface CellOptions {
  /** The size of one step's input; by default taken from the first call. */
  readonly inputs?: number;
}

/** @internal The rules of `CellOptions`. */
export const cellRules: OptionRules<CellOptions> = { inputs: inputSize };

/** A sequence of inputs, prepared for a cell. */
export interface Unrolled {
  /** Contribution of the inputs to the gates, for all steps: x with its last axis replaced. */
  readonly inputs: NDArray;
  /** The states after one step, given its part of `inputs`. */
  readonly step: (inputs: NDArray, states: readonly NDArray[]) => NDArray[];
}

/**
 * One step of a recurrent network: `call(x, states)` with x (batch, inputs) returns the output
 * (batch, size) and the new states, of which the output is the first. Gates are stacked along the first
 * axis of the weights.
 */
export abstract class Cell extends HybridBlock {
  readonly size: number;
  inputWeight: Parameter;
  stateWeight: Parameter;
  inputBias: Parameter;
  stateBias: Parameter;
  readonly #gates: number;

  constructor(op: string, size: number, gates: number, options: CellOptions) {
    super();
    checkSize(op, 'size', size);
    this.size = size;
    this.#gates = gates;
    const rows = gates * size;
    this.inputWeight = new Parameter({ shape: [rows, options.inputs ?? null], init: xavier });
    this.stateWeight = new Parameter({ shape: [rows, size], init: xavier });
    this.inputBias = new Parameter({ shape: [rows] });
    this.stateBias = new Parameter({ shape: [rows] });
  }

  /** Number of arrays in a state. */
  abstract readonly stateCount: number;

  /** The new states, given the contributions of input and state to the gates. */
  protected abstract advance(
    fromInput: NDArray,
    fromState: NDArray,
    states: readonly NDArray[],
  ): NDArray[];

  override forward(x: NDArray, states: readonly NDArray[]): [NDArray, NDArray[]] {
    checkInput(this, 'x', x);
    checkStates(this, states, this.stateCount);
    const { inputs, step } = this.unroll(x);
    const next = step(inputs, states);
    return [next[0], next];
  }

  /** The states before the first step: zeros, on the device of the parameters. */
  beginState(batch: number): NDArray[] {
    return this.besideParameters(() =>
      Array.from({ length: this.stateCount }, () => zeroArray([batch, this.size])),
    );
  }

  /** @internal Runs code whose new arrays live on the device of the parameters. */
  besideParameters<R>(make: () => R): R {
    const { stateWeight } = this;
    return placedBeside(stateWeight.isInitialized ? [stateWeight.value] : [], make);
  }

  override inferShape(x: NDArray): void {
    checkInput(this, 'x', x);
    this.inputWeight.resolveShape([this.#gates * this.size, x.shape.at(-1)!]);
  }

  /**
   * Prepares the steps over a sequence x (..., inputs): the part that needs no state is computed here, at
   * once for all steps.
   */
  unroll(x: NDArray): Unrolled {
    checkInput(this, 'x', x);
    this.resolve([x]);
    const product = turnedProduct(x, this.inputWeight.value, { left: false, right: true });
    const inputs = product.add(this.inputBias.value);
    const weight = this.stateWeight.value.transpose();
    const bias = this.stateBias.value;
    const step: Unrolled['step'] = (given, states) =>
      this.advance(given, states[0].matmul(weight).add(bias), states);
    return { inputs, step };
  }
}

export interface RNNCellOptions extends CellOptions {
  /** Default tanh. */
  readonly activation?: Activation;
}

const rnnCellRules: OptionRules<RNNCellOptions> = { ...cellRules, activation };

/** h' = activation(W x + U h + b). Source: Elman, 1990. */
export class RNNCell extends Cell {
  readonly stateCount: number = 1;
  readonly #activation: (x: NDArray) => NDArray;

  constructor(size: number, options: RNNCellOptions = {}) {
    checkOptions('RNNCell', options, rnnCellRules);
    super('RNNCell', size, 1, options);
    this.#activation = activationFunction(options.activation) ?? ((x) => tanh(x));
  }

  protected override advance(fromInput: NDArray, fromState: NDArray): NDArray[] {
    return [this.#activation(fromInput.add(fromState))];
  }
}

/**
 * Long short-term memory with forget gate; states are [h, c], gates in the order input, forget, cell,
 * output. Source: Hochreiter and Schmidhuber, 1997; Gers, Schmidhuber and Cummins, 2000.
 */
export class LSTMCell extends Cell {
  readonly stateCount: number = 2;

  constructor(size: number, options: CellOptions = {}) {
    checkOptions('LSTMCell', options, cellRules);
    super('LSTMCell', size, 4, options);
  }

  protected override advance(
    fromInput: NDArray,
    fromState: NDArray,
    [, c]: readonly NDArray[],
  ): NDArray[] {
    const [input, forget, cell, output] = split(fromInput.add(fromState), 4, -1);
    const nextCell = sigmoid(forget)
      .mul(c)
      .add(sigmoid(input).mul(tanh(cell)));
    return [sigmoid(output).mul(tanh(nextCell)), nextCell];
  }
}

/** Gated recurrent unit, gates in the order reset, update, new. Source: Cho et al., EMNLP 2014 (cuDNN's form). */
export class GRUCell extends Cell {
  readonly stateCount: number = 1;

  constructor(size: number, options: CellOptions = {}) {
    checkOptions('GRUCell', options, cellRules);
    super('GRUCell', size, 3, options);
  }

  protected override advance(
    fromInput: NDArray,
    fromState: NDArray,
    [h]: readonly NDArray[],
  ): NDArray[] {
    const [inputReset, inputUpdate, inputNew] = split(fromInput, 3, -1);
    const [stateReset, stateUpdate, stateNew] = split(fromState, 3, -1);
    const reset = sigmoid(inputReset.add(stateReset));
    const update = sigmoid(inputUpdate.add(stateUpdate));
    const candidate = tanh(inputNew.add(reset.mul(stateNew)));
    return [candidate.add(update.mul(h.sub(candidate)))];
  }
}
