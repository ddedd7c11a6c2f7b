import { isStatic } from '../../base/dim/index.js';
import { inContext } from '../../base/errors.js';
import { bindResults } from '../../ir/bind.js';
import { isThrownByCheck } from '../../ops/control/check.js';
import { stopGradient } from '../../ops/structure/identity.js';
import type { Capture, Effects } from '../core/capture.js';
import { numberArray } from '../core/host-number.js';
import { joinRecording, perform } from '../dispatch/dispatch.js';
import { type CapturedDraws, continueFrom, takeState } from '../dispatch/generator.js';
import { leaveGradient } from '../graphs/graph-runner.js';
import { type Origin, Session } from '../core/history.js';
import { runChecked } from '../dispatch/run.js';
import { attributesWithSizes } from '../dispatch/lazy.js';
import { mode, withMode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { gradOf, markGradient, writeState } from '../dispatch/values.js';

/**
 * Values of a trace that runs while it is captured, because its side-effect code needs real arrays. The calls
 * captured so far run one by one, as they would without a trace, in the context of the traced call: recorded
 * there if they are recorded in the trace.
 */
export class LiveValues {
  readonly #capture: Capture;
  /** Recording of recorded calls of the trace: the enclosing one, or its own. */
  readonly #session: Session;
  /** Its own is open only while calls run: the trace decides what may be assigned to. */
  readonly #isOwn: boolean;
  readonly #values: Map<NDArray, NDArray>;
  /** Data-dependent sizes of this call. The trace serves others, too. */
  readonly #sizes: Map<string, number> = new Map();
  #ran = 0;
  #hasRun = false;

  /** `given` maps placeholders to arrays. */
  constructor(capture: Capture, session: Session | null, given: Iterable<[NDArray, NDArray]>) {
    this.#capture = capture;
    this.#session = session ?? new Session();
    this.#isOwn = session === null;
    if (this.#isOwn) this.#session.isOpen = false;
    this.#values = new Map(given);
  }

  /** True when something had to run so far. */
  get hasRun(): boolean {
    return this.#hasRun;
  }

  /**
   * Ends the trace. Gradients of values recorded by the enclosing recording, or returned as recorded, can
   * still be requested.
   */
  finish(returnsRecorded: boolean): void {
    if (this.#isOwn) this.#session.isOpen = returnsRecorded;
    if (!this.#session.isOpen) return;
    for (const array of this.#outside()) joinRecording(array, this.#session);
  }

  /** Value of a trace's array in this call; an outer array is itself. */
  of(array: NDArray): NDArray {
    return this.#values.get(array) ?? array;
  }

  set(array: NDArray, value: NDArray): void {
    this.#values.set(array, value);
  }

  /** Runs the calls captured since the last time, and applies their effects. */
  catchUp(effects: Effects, draws: CapturedDraws | undefined): void {
    this.#hasRun = true;
    if (this.#isOwn) this.#session.isOpen = true;
    // Until the end, the trace decides which recording used an array last.
    const traced = this.#outside().map((array) => [array, array.session] as const);
    withMode({ capture: null, session: this.#session }, 'staticGraph', () => {
      for (const [owner, read] of effects.gradientReads) {
        const grad = gradOf(this.of(owner));
        if (grad !== null) this.set(read, grad);
      }
      if (draws !== undefined)
        this.set(draws.base, takeState(draws.tail === null ? draws.count : 0));
      for (const [array, source] of this.#capture.hostReads) this.set(array, numberArray(source));
      const log = this.#capture.calls.all!;
      for (; this.#ran < log.length; this.#ran++) this.#run(log[this.#ran]);
      if (draws?.tail) {
        continueFrom(this.of(draws.tail.state));
        takeState(draws.tail.count);
      }
      for (const [target, value] of effects.updates) writeState(this.of(target), this.of(value));
      for (const [owner, grad] of effects.gradients) {
        leaveGradient(this.of(owner), this.of(grad), effects.attached.get(owner));
      }
      for (const [owner, mark] of effects.gradientMarks) markGradient(this.of(owner), mark);
    });
    for (const [array, session] of traced) array.session = session;
    if (this.#isOwn) this.#session.isOpen = false;
  }

  /** The outer arrays that recorded calls have read. */
  #outside(): readonly NDArray[] {
    return [...this.#capture.calls.touched].filter(
      ({ elements, isConstant }) => elements !== null && !isConstant,
    );
  }

  #run(origin: Origin): void {
    const { declaration, regions, operands, results, source, session } = origin;
    try {
      const operation = {
        declaration,
        regions,
        attributes: attributesWithSizes(origin, this.#sizes),
      };
      // Calls that stop gradients are not recorded, but where they were called, except for `detach`, their
      // operand takes part.
      const stops = declaration === stopGradient.declaration;
      const isRecorded =
        session !== null || (stops && this.#capture.calls.touched.has(operands[0]));
      const made = withMode({ session: isRecorded ? mode.session : null }, declaration.name, () =>
        perform(
          operation,
          operands.map((operand) => this.of(operand)),
          runChecked,
        ),
      );
      results.forEach((array, i) => this.set(array, made[i]));
      this.#learnSizes(results, made);
    } catch (error) {
      if (isThrownByCheck(error)) throw error;
      throw inContext(error, 'captured code failed', {
        op: declaration.name,
        source,
      });
    }
  }

  #learnSizes(captured: readonly NDArray[], made: readonly NDArray[]): void {
    const types = captured.map(({ type }) => type);
    if (types.every(({ shape }) => shape.every(isStatic))) return;
    const known = new Map([...this.#capture.sizes.known, ...this.#sizes]);
    for (const [name, size] of bindResults(types, made, undefined, known)) {
      this.#sizes.set(name, size);
    }
  }
}
