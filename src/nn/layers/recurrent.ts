import { describe } from '../../base/attributes/attribute.js';
import { type Dim, isStatic } from '../../base/dim/index.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import {
  checkOptions,
  flag,
  integerFrom,
  type OptionRules,
  rule,
} from '../../base/attributes/options.js';
import { NDArray } from '../../front/core/ndarray.js';
import { extentsOf } from '../../front/dispatch/traced-shape.js';
import { typeToString } from '../../ir/program.js';
import { concat, fill, stack, swapaxes } from '../../ops/index.js';
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
  /** How many layers are stacked, each reading the outputs of the one before. Default 1. */
  readonly layers?: number;
  /** Whether each layer also reads from the last step to the first; outputs lie side by side. Default false. */
  readonly bidirectional?: boolean;
  /** What share of the outputs between layers is dropped in training. Default 0. */
  readonly dropout?: number;
  /** The axes of sequences: batch, time, channels, or time first. Default NTC. */
  readonly layout?: 'NTC' | 'TNC';
}

const rules: OptionRules<RecurrentOptions> = {
  ...cellRules,
  // Each has a cell of its own, made at once.
  layers: integerFrom(1, 10_000),
  bidirectional: flag,
  dropout: dropoutRate,
  layout: sequenceLayout,
};

/** What a recurrent layer may be given beside the sequences. */
export interface RecurrentInputs {
  /** The states before the first step, as the layer returns them: zeros unless given. */
  readonly states?: readonly NDArray[] | undefined;
  /** How many steps each example has; what follows is padding. All steps unless given. */
  readonly lengths?: Lengths | undefined;
}

/** What states and lengths have to be is checked where sizes are known. */
const anything = rule('a value', (value): value is never => value !== undefined);

/**
 * Recurrent cells run over sequences: `call(x, { states, lengths })` returns the outputs of the last layer,
 * (batch, time, size * directions) or time first as `layout` says, and the states after the last step,
 * each of shape (layers * directions, batch, size) with the directions of a layer next to each other.
 *
 * With `lengths`, what stands in the padding reaches nothing: outputs there are zero, the final states are
 * those of each example's last step, and the reverse direction starts there. Examples are sorted by
 * length, and each step computes only those that have it. A length of 0 leaves the state as it is.
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

  /** States of zeros, for `call(x, { states })`. */
  beginState(batch: number): NDArray[] {
    return this.#zeros(batch);
  }

  override call(...args: Parameters<this['forward']>): ReturnType<this['forward']> {
    const [x, given] = args as readonly [NDArray, RecurrentInputs?];
    if (given?.lengths === undefined) return super.call(...args);
    checkInput(this, 'x', x);
    // Here elements can be looked at, and plain numbers become data that a graph takes any of.
    const lengths = this.#checkedLengths(given.lengths, x);
    return super.call(...([x, { ...given, lengths }] as unknown as typeof args));
  }

  /** @throws ShapeError for sequences or states that do not have the shape they must have. */
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
    const sorted = begin.map((state) => packing.enter(state));
    const [outputs, ends] = this.#run(packing.enter(x), sorted, packing);
    return [packing.leave(outputs), ends.map((state) => packing.leave(state))];
  }

  /** The layers one after the other on time-major sequences. */
  #run(
    x: NDArray,
    begin: readonly NDArray[],
    packing: Packing | null,
  ): [outputs: NDArray, states: NDArray[]] {
    const ends: (readonly NDArray[])[] = [];
    const outputs = this.cells.reduce((read, cell, layer) => {
      const sequence = layer === 0 ? read : this.between.call(read);
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

  #axesOf(x: NDArray): { readonly time: Dim; readonly batch: Dim } {
    if (x.ndim !== 3) {
      throw new ShapeError('these are no sequences', {
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
    return checkedLengths(this.constructor.name, lengths, time, batch);
  }

  #checkedStates(states: readonly NDArray[], batch: Dim): readonly NDArray[] {
    const { stateCount } = this.cells[0];
    const areArrays = Array.isArray(states) && states.every((state) => state instanceof NDArray);
    if (!areArrays || states.length !== stateCount) {
      throw new ArgumentError('another number of states is given', {
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
      throw new ShapeError(`state ${k} has not the shape it must have`, {
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

/** Elman's network over sequences; states are [h]. See `RecurrentLayer` and `RNNCell`. */
export class RNN extends RecurrentLayer {
  constructor(size: number, options: RNNOptions = {}) {
    const own = options?.activation === undefined ? {} : { activation: options.activation };
    super('RNN', size, (given) => new RNNCell(size, { ...given, ...own }), options, rnnRules);
  }
}
