import { describe } from '../../base/attributes/attribute.js';
import { type Dim, isStatic } from '../../base/dim/index.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import {
  checkOptions,
  flag,
  integerFrom,
  type OptionRules,
  valueRule,
} from '../../base/attributes/options.js';
import { isTraining } from '../../front/autograd/index.js';
import { placedBeside } from '../../front/devices/placing.js';
import { NDArray } from '../../front/core/ndarray.js';
import { extentsOf } from '../../front/dispatch/traced-shape.js';
import { typeToString } from '../../ir/program.js';
import { concat, fill, fullLike, stack, swapaxes } from '../../ops/index.js';
import { HybridBlock } from '../block.js';
import { checkInput } from '../input.js';
import {
  type Cell,
  type CellOptions,
  GRUCell,
  LSTMCell,
  cellRules,
  RNNCell,
  type RNNCellOptions,
} from './cells.js';
import { Dropout, dropoutRate } from './dropout.js';
import { activation, checkSize, sequenceLayout } from './options.js';
import { checkedLengths, type Lengths, type Packing, packingOf } from './packing.js';
import { runCell } from './recurrence.js';

export interface RecurrentOptions extends CellOptions {
  /** Number of stacked layers, each reading the outputs of the one before. Default 1. */
  readonly layers?: number;
  /** Also run each layer from the last step to the first, and concatenate the outputs. Default false. */
  readonly bidirectional?: boolean;
  /** Dropout rate between layers in training. Default 0. */
  readonly dropout?: number;
  /** The axes of sequences: batch, time, channels, or time first. Default NTC. */
  readonly layout?: 'NTC' | 'TNC';
}

const rules: OptionRules<RecurrentOptions> = {
  ...cellRules,
  // Bounded, since each layer allocates a cell.
  layers: integerFrom(1, 10_000),
  bidirectional: flag,
  dropout: dropoutRate,
  layout: sequenceLayout,
};

/** Optional inputs of a recurrent layer. */
export interface RecurrentInputs {
  /** The states before the first step, as the layer returns them. Default: zeros. */
  readonly states?: readonly NDArray[] | undefined;
  /** Number of steps of each example; the rest is padding. Default: all steps. */
  readonly lengths?: Lengths | undefined;
}

/** Any value: states and lengths are checked later, where sizes are known. */
const anything = valueRule('a value', (value): value is never => value !== undefined);

/**
 * Recurrent cells over sequences: `call(x, { states, lengths })` returns the outputs of the last layer,
 * (batch, time, size * directions) or time first as `layout` says, and the states after the last step, each
 * of shape (layers * directions, batch, size) with the directions of a layer adjacent.
 *
 * With `lengths`, padding has no influence: outputs there are zero, the final states are those of each
 * example's last step, and the reverse direction starts there. Examples are sorted by length, and each step
 * computes only the active ones; StableHLO and jobs, which need known sizes, mask the others instead. A length of 0
 * leaves the state unchanged.
 *
 * The parameters are those of cells: `cells.0.inputWeight` of the first layer, `reverseCells.0.inputWeight`
 * of its other direction.
 */
export abstract class RecurrentLayer extends HybridBlock {
  readonly size: number;
  cells: Cell[];
  reverseCells: Cell[];
  between: Dropout;
  readonly #isTimeFirst: boolean;

  constructor(
    op: string,
    size: number,
    makeCell: (options: CellOptions) => Cell,
    options: RecurrentOptions,
    known: OptionRules<RecurrentOptions> = rules,
  ) {
    super();
    checkSize(op, 'size', size);
    checkOptions(op, options, known);
    const { inputs, layers = 1, bidirectional = false, dropout = 0, layout = 'NTC' } = options;
    this.size = size;
    this.#isTimeFirst = layout === 'TNC';
    const makeCells = (): Cell[] =>
      Array.from({ length: layers }, (_, layer) => {
        const width = layer === 0 ? inputs : bidirectional ? 2 * size : size;
        return makeCell(width === undefined ? {} : { inputs: width });
      });
    this.cells = makeCells();
    this.reverseCells = bidirectional ? makeCells() : [];
    this.between = new Dropout(dropout);
  }

  /** States of zeros on the device of the parameters, for `call(x, { states })`. */
  beginState(batch: number): NDArray[] {
    return this.cells[0].besideParameters(() => this.#zeros(batch));
  }

  override call(...args: Parameters<this['forward']>): ReturnType<this['forward']> {
    const [x, given] = args as readonly [NDArray, RecurrentInputs?];
    if (given?.lengths === undefined) return super.call(...args);
    checkInput(this, 'x', x);
    // Checked outside of `forward`, where elements can be read; plain numbers become an input array, so that
    // a graph accepts any lengths.
    const lengths = this.#checkedLengths(given.lengths, x);
    return super.call(...([x, { ...given, lengths }] as unknown as typeof args));
  }

  /** @throws ShapeError for sequences or states of a wrong shape. */
  override forward(x: NDArray, given: RecurrentInputs = {}): [outputs: NDArray, states: NDArray[]] {
    checkInput(this, 'x', x);
    checkOptions<RecurrentInputs>(this.constructor.name, given, {
      states: anything,
      lengths: anything,
    });
    const { states, lengths } = given;
    const { time, batch } = this.#axesOf(x);
    const begin = states === undefined ? this.#zeros(batch) : this.#checkedStates(states, batch);
    const sequence = this.#isTimeFirst ? x : swapaxes(x, 0, 1);
    const packing =
      lengths === undefined ? null : packingOf(this.#checkedLengths(lengths, x), time, batch);
    const [outputs, ends] =
      packing === null
        ? this.#run(sequence, begin, null)
        : this.#runPacked(sequence, begin, packing);
    return [this.#isTimeFirst ? outputs : swapaxes(outputs, 0, 1), ends];
  }

  #runPacked(
    x: NDArray,
    begin: readonly NDArray[],
    packing: Packing,
  ): [outputs: NDArray, states: NDArray[]] {
    const entered = begin.map((state) => packing.arrange(state));
    const [outputs, ends] = this.#run(packing.enter(x), entered, packing);
    return [packing.leave(outputs), ends.map((state) => packing.leave(state))];
  }

  /** Runs the layers in order on time-major sequences. */
  #run(
    x: NDArray,
    begin: readonly NDArray[],
    packing: Packing | null,
  ): [outputs: NDArray, states: NDArray[]] {
    const ends: (readonly NDArray[])[] = [];
    const outputs = this.cells.reduce((read, cell, layer) => {
      const sequence = layer === 0 ? read : this.#dropped(read, packing);
      const given = packing === null ? sequence : packing.list(sequence);
      const directions = [cell, ...this.reverseCells.slice(layer, layer + 1)];
      const sides = directions.map((each, direction) => {
        const states = begin.map((state) => state.slice(ends.length));
        const found = runCell(each, given, { states, packing, isReverse: direction === 1 });
        ends.push(found.states);
        return found.outputs;
      });
      return sides.length === 1 ? sides[0] : concat(sides, -1);
    }, x);
    return [outputs, begin.map((_, k) => stack(ends.map((states) => states[k])))];
  }

  /** Dropout between layers: it drops the same elements in every order of the examples. */
  #dropped(x: NDArray, packing: Packing | null): NDArray {
    if (packing === null || !isTraining() || this.between.rate === 0) return this.between.call(x);
    return x.mul(packing.arrange(this.between.call(fullLike<NDArray>(x, 1))));
  }

  #axesOf(x: NDArray): { readonly time: Dim; readonly batch: Dim } {
    if (x.ndim !== 3) {
      throw new ShapeError('these are not sequences', {
        op: this.constructor.name,
        expected: this.#isTimeFirst ? '(time, batch, channels)' : '(batch, time, channels)',
        actual: typeToString(x.type),
      });
    }
    const [first, second] = extentsOf(x);
    return this.#isTimeFirst ? { time: first, batch: second } : { time: second, batch: first };
  }

  #checkedLengths(lengths: Lengths, x: NDArray): NDArray {
    const { time, batch } = this.#axesOf(x);
    return placedBeside([x], () => checkedLengths(this.constructor.name, lengths, time, batch));
  }

  #checkedStates(states: readonly NDArray[], batch: Dim): readonly NDArray[] {
    const { stateCount } = this.cells[0];
    const areArrays = Array.isArray(states) && states.every((state) => state instanceof NDArray);
    if (!areArrays || states.length !== stateCount) {
      throw new ArgumentError('the number of states is wrong', {
        op: this.constructor.name,
        expected: `${stateCount}, as call returns them`,
        actual: areArrays ? String(states.length) : describe(states),
      });
    }
    const expected = this.#stateShape(batch);
    states.forEach(({ type }, k) => {
      const fits =
        type.shape.length === 3 && type.shape.every((dim, axis) => !differs(dim, expected[axis]));
      if (fits) return;
      throw new ShapeError(`state ${k} has a wrong shape`, {
        op: this.constructor.name,
        expected: `(layers * directions, batch, size), which is (${expected.join(', ')})`,
        actual: typeToString(type),
      });
    });
    return states;
  }

  #zeros(batch: Dim): NDArray[] {
    const { stateCount } = this.cells[0];
    return Array.from({ length: stateCount }, () => fill<NDArray>(this.#stateShape(batch), 0));
  }

  #stateShape(batch: Dim): Dim[] {
    return [this.cells.length + this.reverseCells.length, batch, this.size];
  }
}

function differs(a: Dim, b: Dim): boolean {
  return isStatic(a) && isStatic(b) && a !== b;
}

/** Long short-term memory over sequences; states are [h, c]. See `RecurrentLayer` and `LSTMCell`. */
export class LSTM extends RecurrentLayer {
  constructor(size: number, options: RecurrentOptions = {}) {
    super('LSTM', size, (given) => new LSTMCell(size, given), options);
  }
}

/** Gated recurrent units over sequences; states are [h]. See `RecurrentLayer` and `GRUCell`. */
export class GRU extends RecurrentLayer {
  constructor(size: number, options: RecurrentOptions = {}) {
    super('GRU', size, (given) => new GRUCell(size, given), options);
  }
}

export interface RNNOptions extends RecurrentOptions, RNNCellOptions {}

const rnnRules: OptionRules<RNNOptions> = { ...rules, activation };

/** Elman network over sequences; states are [h]. See `RecurrentLayer` and `RNNCell`. */
export class RNN extends RecurrentLayer {
  constructor(size: number, options: RNNOptions = {}) {
    const own = options?.activation === undefined ? {} : { activation: options.activation };
    super('RNN', size, (given) => new RNNCell(size, { ...given, ...own }), options, rnnRules);
  }
}
