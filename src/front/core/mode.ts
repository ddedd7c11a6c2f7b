import { ArgumentError, TraceError } from '../../base/errors.js';
import type { Capture } from './capture.js';
import type { Session } from './history.js';
import type { Scratch } from './scratch.js';
import type { StateLog } from './state-log.js';

/** Current handling of operator calls. JavaScript runs one call at a time, so one object suffices. */
export interface Mode {
  /** Capture to which calls are appended instead of being run; null to run them. */
  capture: Capture | null;
  /** The recording that calls take part in; null for none. Independent of `capture`. */
  session: Session | null;
  /** Training mode of layers such as dropout. */
  training: boolean;
  /** True while gradients stop, even if the captured code is recorded later as a whole. */
  isPaused: boolean;
  /** True during a backward pass. */
  isBackward: boolean;
  /** Log of the state that the current code finds; null for none. */
  stateLog: StateLog | null;
  /** Collector of arrays that only the library sees; null where users may see them. */
  scratch: Scratch | null;
  /**
   * True while code is captured for engines that have to know every size before a run: what has a form without sizes
   * that the data decides takes that.
   */
  hasStaticSizes: boolean;
  /** Source line of captured calls; null when each finds its own. */
  source: string | null;
}

export const mode: Mode = {
  capture: null,
  session: null,
  training: false,
  isPaused: false,
  isBackward: false,
  stateLog: null,
  scratch: null,
  hasStaticSizes: false,
  source: null,
};

/**
 * Runs `fn` with parts of the mode replaced, and restores them. A mode ends when `fn` returns, so an
 * asynchronous `fn` would leave it at its first `await`: it is refused.
 *
 * @throws TraceError in captured code and ArgumentError elsewhere, for an asynchronous function.
 */
export function withMode<R>(changes: Partial<Mode>, op: string, fn: () => R): R {
  const { capture, session, training, isPaused, isBackward, stateLog, scratch, hasStaticSizes, source } = mode; // prettier-ignore
  Object.assign(mode, changes);
  try {
    refuseAsync(fn, op);
    const result = fn();
    if (isPromise(result)) {
      abandon(result);
      throw asynchronous(op, 'a function that returns a promise');
    }
    return result;
  } finally {
    mode.capture = capture;
    mode.session = session;
    mode.training = training;
    mode.isPaused = isPaused;
    mode.isBackward = isBackward;
    mode.stateLog = stateLog;
    mode.scratch = scratch;
    mode.hasStaticSizes = hasStaticSizes;
    mode.source = source;
  }
}

/** Refuses a function that is declared asynchronous, before it runs. */
export function refuseAsync(fn: unknown, op: string): void {
  const tag: unknown = (fn as { readonly [Symbol.toStringTag]?: unknown })[Symbol.toStringTag];
  if (tag === 'AsyncFunction' || tag === 'AsyncGeneratorFunction') {
    throw asynchronous(op, 'an async function');
  }
}

const capturing: ReadonlySet<string> = new Set(['hybridize', 'deferredCompute', 'staticGraph']);

function asynchronous(op: string, actual: string): ArgumentError | TraceError {
  const Kind = mode.capture !== null || capturing.has(op) ? TraceError : ArgumentError;
  const isCaptured = Kind === TraceError;
  return new Kind('the function is asynchronous', {
    op,
    expected: 'a function that returns its result',
    actual,
    advice: isCaptured
      ? 'await data before the call, not inside; what depends on values of arrays is said with where, cond, whileLoop or foreach'
      : 'await data before the call, not inside',
  });
}

/** A plain record may have an entry named `then`; a promise has a method. */
function isPromise(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { readonly then?: unknown }).then === 'function'
  );
}

/**
 * A refused promise is not awaited, and its code fails: without a handler that would end the process. Other
 * thenables may start only when asked, so they are not.
 */
function abandon(value: unknown): void {
  if (Object.prototype.toString.call(value) === '[object Promise]') {
    Promise.prototype.then.call(value, undefined, () => {});
  }
}
