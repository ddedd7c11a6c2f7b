import { inContext } from '../base/errors.js';
import type { Capture, Effects } from './capture.js';
import { numberArray } from './capture.js';
import { perform } from './dispatch.js';
import { endDraws, takeState } from './generator.js';
import type { Origin, Session } from './history.js';
import { withSizes } from './lazy.js';
import { mode, withMode } from './mode.js';
import type { NDArray } from './ndarray.js';
import { gradOf, setGradient, writeState } from './values.js';

/**
 * The values of a trace that runs while it is made, because side-effect code in it wants real arrays.
 * The calls captured so far run one by one, as they would without a trace, in the surroundings of the
 * traced call: recorded there where they are recorded in the trace.
 */
export class LiveValues {
  readonly #capture: Capture;
  readonly #session: Session | null;
  readonly #values: Map<NDArray, NDArray>;
  #ran = 0;

  /** `given` tells the arrays that stand-ins stand for. */
  constructor(capture: Capture, session: Session | null, given: Iterable<[NDArray, NDArray]>) {
    this.#capture = capture;
    this.#session = session;
    this.#values = new Map(given);
  }

  /** What an array of the trace is in this call; an array from outside is itself. */
  of(array: NDArray): NDArray {
    return this.#values.get(array) ?? array;
  }

  set(array: NDArray, value: NDArray): void {
    this.#values.set(array, value);
  }

  /** Runs what was captured since the last time, and carries its effects out. */
  catchUp(effects: Effects): void {
    withMode({ capture: null, session: this.#session }, 'staticGraph', () => {
      for (const [owner, read] of effects.gradientReads) {
        const grad = gradOf(this.of(owner));
        if (grad !== null) this.set(read, grad);
      }
      const draws = endDraws(this.#capture);
      if (draws !== undefined) this.set(draws.base, takeState(draws.count));
      for (const [array, source] of this.#capture.hostReads) this.set(array, numberArray(source));
      const { log } = this.#capture;
      for (; this.#ran < log!.length; this.#ran++) this.#run(log![this.#ran]);
      for (const [target, value] of effects.updates) writeState(this.of(target), this.of(value));
      for (const [owner, grad] of effects.gradients) setGradient(this.of(owner), this.of(grad));
    });
  }

  #run(origin: Origin): void {
    const { declaration, regions, operands, results, source, session } = origin;
    try {
      const operation = { declaration, regions, attributes: withSizes(origin) };
      const made = withMode(
        { session: session === null ? null : mode.session },
        declaration.name,
        () =>
          perform(
            operation,
            operands.map((operand) => this.of(operand)),
          ),
      );
      results.forEach((array, i) => this.set(array, made[i]));
    } catch (error) {
      throw inContext(error, 'captured code failed', {
        op: declaration.name,
        ...(source !== undefined && { source }),
      });
    }
  }
}
