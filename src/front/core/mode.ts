import { ArgumentError, TraceError } from '../../base/errors.js';
import type { Capture } from './capture.js';
import type { Session } from './history.js';
import type { Scratch } from './scratch.js';
import type { StateLog } from './state-log.js';

/** How operator calls are treated at this moment. JavaScript runs one call at a time, so one object is enough. */
export interface Mode {
  /** What calls are appended to instead of being run; null means run them now. */
  capture: Capture | null;
  /** The recording that calls take part in; null means none. Independent of `capture`. */
  session: Session | null;
  /** Whether layers such as dropout behave as in training. */
  training: boolean;
  /** Whether gradients stop here even where the captured code is recorded later, as a whole. */
  isPaused: boolean;
  /** Whether a backward pass is going on. */
  isBackward: boolean;
  /** Where the state is kept that the code which runs now has found; null when nobody asks. */
  stateLog: StateLog | null;
  /** Where what calls make is noted that only the library sees; null where users may see it. */
  scratch: Scratch | null;
  /** The line that captured calls are made for; null where each says its own. */
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
  source: null,
};

/**
 * Runs `fn` with parts of the mode replaced, and puts them back whatever happens. A mode ends when `fn`
 * returns, so an asynchronous `fn` would run outside of it from its first `await` on: it is refused.
 *
 * @throws TraceError in captured code and ArgumentError elsewhere, for an asynchronous function.
 */
export function withMode<R>(changes: Partial<Mode>, op: string, fn: () => R): R {
  const { capture, session, training, isPaused, isBackward, stateLog, scratch, source } = mode;
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
    mode.source = source;
  }
}

/** Refuses a function that is declared asynchronous, before anything of it has run. */
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

/** A record may well have an entry named `then`; a promise has a method. */
function isPromise(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { readonly then?: unknown }).then === 'function'
  );
}

/**
 * Nobody waits for a promise that was refused, and what runs behind it fails: without a handler that
 * would end the process. Other thenables may only start when asked, so they are not asked.
 */
function abandon(value: unknown): void {
  if (Object.prototype.toString.call(value) === '[object Promise]') {
    Promise.prototype.then.call(value, undefined, () => {});
  }
}
