import { zeros as zeroArray } from '../../front/creation.js';
import type { NDArray } from '../../front/ndarray.js';
import { sigmoid, split, tanh } from '../../ops/index.js';
import { HybridBlock } from '../block.js';
import { xavier } from '../initializer.js';
import { Parameter } from '../parameter.js';
import { type Activation, activationFunction } from './activation.js';

export interface CellOptions {
  /** The size of one step's input; else taken from the first call. */
  readonly inputs?: number;
}

/**
 * One step of a recurrent network: `call(x, states)` with x (batch, inputs) returns the output
 * (batch, size) and the new states. Gates are stacked along the first axis of the weights.
 */
abstract class Cell extends HybridBlock {
  readonly size: number;
  inputWeight: Parameter;
  stateWeight: Parameter;
  inputBias: Parameter;
  stateBias: Parameter;
  readonly #gates: number;

  constructor(size: number, gates: number, options: CellOptions) {
    super();
    this.size = size;
    this.#gates = gates;
    const rows = gates * size;
    this.inputWeight = new Parameter({ shape: [rows, options.inputs ?? null], init: xavier });
    this.stateWeight = new Parameter({ shape: [rows, size], init: xavier });
    this.inputBias = new Parameter({ shape: [rows] });
    this.stateBias = new Parameter({ shape: [rows] });
  }

  /** How many arrays a state has. */
  protected abstract readonly stateCount: number;

  abstract override forward(x: NDArray, states: readonly NDArray[]): [NDArray, NDArray[]];

  /** The states before the first step: zeros. */
  beginState(batch: number): NDArray[] {
    return Array.from({ length: this.stateCount }, () => zeroArray([batch, this.size]));
  }

  override inferShape(x: NDArray): void {
    this.inputWeight.resolveShape([this.#gates * this.size, x.shape.at(-1)!]);
  }

  protected fromInput(x: NDArray): NDArray {
    return x.matmul(this.inputWeight.value.transpose()).add(this.inputBias.value);
  }

  protected fromState(h: NDArray): NDArray {
    return h.matmul(this.stateWeight.value.transpose()).add(this.stateBias.value);
  }
}

export interface RNNCellOptions extends CellOptions {
  /** Default tanh. */
  readonly activation?: Activation;
}

/** h' = activation(W x + U h + b). Source: Elman, 1990. */
export class RNNCell extends Cell {
  protected readonly stateCount: number = 1;
  readonly #activation: (x: NDArray) => NDArray;

  constructor(size: number, options: RNNCellOptions = {}) {
    super(size, 1, options);
    this.#activation = activationFunction(options.activation) ?? ((x) => tanh(x));
  }

  override forward(x: NDArray, [h]: readonly NDArray[]): [NDArray, NDArray[]] {
    const next = this.#activation(this.fromInput(x).add(this.fromState(h)));
    return [next, [next]];
  }
}

/**
 * Long short-term memory with forget gate; states are [h, c], gates in the order input, forget, cell,
 * output. Source: Hochreiter and Schmidhuber, 1997; Gers, Schmidhuber and Cummins, 2000.
 */
export class LSTMCell extends Cell {
  protected readonly stateCount: number = 2;

  constructor(size: number, options: CellOptions = {}) {
    super(size, 4, options);
  }

  override forward(x: NDArray, [h, c]: readonly NDArray[]): [NDArray, NDArray[]] {
    const gates = this.fromInput(x).add(this.fromState(h));
    const [input, forget, cell, output] = split(gates, 4, -1);
    const nextCell = sigmoid(forget)
      .mul(c)
      .add(sigmoid(input).mul(tanh(cell)));
    const next = sigmoid(output).mul(tanh(nextCell));
    return [next, [next, nextCell]];
  }
}

/** Gated recurrent unit, gates in the order reset, update, new. Source: Cho et al., EMNLP 2014 (cuDNN's form). */
export class GRUCell extends Cell {
  protected readonly stateCount: number = 1;

  constructor(size: number, options: CellOptions = {}) {
    super(size, 3, options);
  }

  override forward(x: NDArray, [h]: readonly NDArray[]): [NDArray, NDArray[]] {
    const [inputReset, inputUpdate, inputNew] = split(this.fromInput(x), 3, -1);
    const [stateReset, stateUpdate, stateNew] = split(this.fromState(h), 3, -1);
    const reset = sigmoid(inputReset.add(stateReset));
    const update = sigmoid(inputUpdate.add(stateUpdate));
    const candidate = tanh(inputNew.add(reset.mul(stateNew)));
    const next = candidate.add(update.mul(h.sub(candidate)));
    return [next, [next]];
  }
}
