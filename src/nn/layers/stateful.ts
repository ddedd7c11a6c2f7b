import { BoundedCache } from '../../base/bounded-cache.js';
import { ShapeError } from '../../base/errors.js';
import { checkOptions, type OptionRules } from '../../base/attributes/options.js';
import { type Capture, currentTrace, outsideCapture } from '../../front/core/capture.js';
import { zeros } from '../../front/arrays/creation.js';
import type { NDArray } from '../../front/core/ndarray.js';
import { stack } from '../../ops/index.js';
import { Block, HybridBlock } from '../block.js';
import { Parameter } from '../parameter.js';
import { checkInput } from '../input.js';
import { cellRules, type CellOptions, GRUCell, LSTMCell } from './cells.js';
import { checkSize, sequenceLayout } from './options.js';

export interface StatefulOptions extends CellOptions {
  /** The axes of a sequence: batch, time, channels, or time first. Default NTC. */
  readonly layout?: 'NTC' | 'TNC';
}

const rules: OptionRules<StatefulOptions> = { ...cellRules, layout: sequenceLayout };

/** The arguments of a layer's cell; checks those of the layer. */
function checked(
  op: string,
  size: number,
  options: StatefulOptions,
): [size: number, options: CellOptions] {
  checkSize(op, 'size', size);
  checkOptions(op, options, rules);
  return [size, options.inputs === undefined ? {} : { inputs: options.inputs }];
}

/** State that a stateful layer carries from call to call, for one batch size. */
export class CarriedState extends Block {
  /** The output of the last step, h. */
  readonly h: Parameter;
  /** The cell state of an LSTM, c. */
  readonly c: Parameter | null;

  constructor(h: Parameter, c: Parameter | null) {
    super();
    this.h = h;
    this.c = c;
  }

  /** In the order of the cell's states. */
  get values(): readonly Parameter[] {
    return this.c === null ? [this.h] : [this.h, this.c];
  }

  /** Null until the first call. */
  get batch(): number | null {
    return this.h.shape[0];
  }

  /** Fixes the batch size. The first time, the values are zeros. */
  begin(batch: number): void {
    const before = this.values.map((parameter) => parameter.remember());
    try {
      for (const parameter of this.values) {
        parameter.resolveShape([batch, ...(parameter.shape.slice(1) as number[])]);
        parameter.begin();
      }
    } catch (error) {
      for (const restore of before) restore();
      throw error;
    }
  }

  /** The current states, which a later backward pass can read even after their update. */
  override forward(): NDArray[] {
    return this.values.map(({ value }) => value.detach());
  }
}

/** Number of batch sizes whose states are kept, so that graphs captured with them stay valid. */
const capacity = 16;

/**
 * A recurrent layer that continues from the states of its last call. `call(x)` takes one step (batch,
 * channels) or a sequence (see `layout`) and returns outputs of the same layout. The final states are written
 * to parameters without gradient: gradients flow through all steps of one call, never into earlier calls. The
 * states are saved with the other parameters.
 */
abstract class StatefulLayer extends HybridBlock {
  readonly size: number;
  cell: LSTMCell | GRUCell;
  /** Replaced when the batch size changes, which invalidates graphs of hybridized blocks. */
  state: CarriedState;
  readonly #isTimeFirst: boolean;
  readonly #states: BoundedCache<number, CarriedState> = new BoundedCache({ capacity });
  /** Captures that have reset the states. */
  readonly #resetIn: WeakSet<Capture> = new WeakSet();
  /** Parameter values that are known to be zero at points of captured code. */
  readonly #cleared: WeakSet<NDArray> = new WeakSet();

  constructor(cell: LSTMCell | GRUCell, { layout = 'NTC' }: StatefulOptions) {
    super();
    this.size = cell.size;
    this.cell = cell;
    this.#isTimeFirst = layout === 'TNC';
    this.state = this.#freshState();
  }

  /**
   * @throws ShapeError for another rank, and for a batch size other than the state's: call `resetState()`
   * before changing the batch size.
   */
  override forward(x: NDArray): NDArray {
    checkInput(this, 'x', x);
    if (x.ndim !== 2 && x.ndim !== 3) {
      throw new ShapeError('this is neither a step nor a sequence', {
        op: this.constructor.name,
        expected: `(batch, channels) or ${this.#isTimeFirst ? '(time, batch, channels)' : '(batch, time, channels)'}`,
        actual: `rank ${x.ndim}`,
      });
    }
    const timeAxis = this.#isTimeFirst ? 0 : 1;
    const isStep = x.ndim === 2;
    const batch = x.shape[isStep ? 0 : 1 - timeAxis];
    const state = this.#stateFor(batch);
    if (isStep) return this.#run(state, [x])[0];
    const steps = Array.from({ length: x.shape[timeAxis] }, (_, t) =>
      this.#isTimeFirst ? x.slice(t) : x.slice(':', t),
    );
    if (steps.length > 0) return stack(this.#run(state, steps), timeAxis);
    return zeros(this.#isTimeFirst ? [0, batch, this.size] : [batch, 0, this.size]);
  }

  /** Resets the states to zeros; the next call may have any batch size. */
  resetState(): void {
    const trace = currentTrace();
    if (trace !== null) this.#resetIn.add(trace);
    this.#clear([...this.#states.values(), this.state].flatMap(({ values }) => values));
  }

  #run(state: CarriedState, steps: readonly NDArray[]): readonly NDArray[] {
    let states = state.call();
    const outputs = steps.map((step) => {
      const [output, next] = this.cell.call(step, states);
      states = next;
      return output;
    });
    state.values.forEach((parameter, i) => parameter.assign(states[i].astype(parameter.dtype)));
    return outputs;
  }

  #stateFor(batch: number): CarriedState {
    if (this.state.batch !== null && this.state.batch !== batch) this.#changeBatch(batch);
    if (this.#states.get(batch) === undefined) {
      this.state.begin(batch);
      // If captured code resets before this state exists, its replays reset it.
      const trace = currentTrace();
      if (trace !== null && this.#resetIn.has(trace)) this.#clear(this.state.values);
      this.#states.set(batch, this.state);
    }
    return this.state;
  }

  /**
   * A state of zeros carries no history, so it may be replaced by one for another batch size. Decided by the
   * elements, because captured code replays without this layer's knowledge.
   */
  #changeBatch(batch: number): void {
    const before = this.state;
    if (!before.values.every((parameter) => this.#isZero(parameter))) {
      throw new ShapeError('the batch has another size than the one whose state is carried', {
        op: this.constructor.name,
        expected: `a batch of ${before.batch}`,
        actual: `a batch of ${batch}`,
        advice: 'call resetState() before going on with another batch',
      });
    }
    // Functions that captured the parameters of a batch size keep them. The block around them is new, so that
    // blocks recapture and detect a missing reset.
    const { h, c } = this.#states.get(batch) ?? this.#freshState();
    this.state = new CarriedState(h, c);
  }

  #freshState(): CarriedState {
    const parameter = (): Parameter => new Parameter({ shape: [null, this.size], gradReq: 'null' });
    return new CarriedState(parameter(), this.cell instanceof LSTMCell ? parameter() : null);
  }

  #clear(parameters: readonly Parameter[]): void {
    for (const parameter of new Set(parameters)) {
      if (!parameter.isInitialized) continue;
      parameter.assign(zeros(parameter.value.shape));
      this.#cleared.add(currentValue(parameter));
    }
  }

  #isZero(parameter: Parameter): boolean {
    const current = currentValue(parameter);
    if (current !== parameter.value) return this.#cleared.has(current);
    const elements = outsideCapture(() => parameter.value.dataSync());
    return elements.every((element: number | bigint) => Number(element) === 0);
  }
}

/** The current value of a parameter's array, captured updates included. */
function currentValue({ value }: Parameter): NDArray {
  return currentTrace()?.state.current(value) ?? value;
}

/** An LSTM that carries its states from call to call; see `LSTMCell`. */
export class StatefulLSTM extends StatefulLayer {
  constructor(size: number, options: StatefulOptions = {}) {
    super(new LSTMCell(...checked('StatefulLSTM', size, options)), options);
  }
}

/** A GRU that carries its state from call to call; see `GRUCell`. */
export class StatefulGRU extends StatefulLayer {
  constructor(size: number, options: StatefulOptions = {}) {
    super(new GRUCell(...checked('StatefulGRU', size, options)), options);
  }
}
