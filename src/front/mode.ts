import { ArgumentError } from '../base/errors.js';
import type { Capture } from './capture.js';
import type { Session } from './history.js';

/** How operator calls are treated at this moment. JavaScript runs one call at a time, so one object is enough. */
export interface Mode {
  /** What calls are appended to instead of being run; null means run them now. */
  capture: Capture | null;
  /** The recording that calls take part in; null means none. Independent of `capture`. */
  session: Session | null;
  /** Whether layers such as dropout behave as in training. */
  training: boolean;
}

export const mode: Mode = { capture: null, session: null, training: false };

/**
 * Runs `fn` with parts of the mode replaced, and puts them back whatever happens. A mode ends when `fn`
 * returns, so an asynchronous `fn` would run outside of it from its first `await` on: it is refused.
 */
export function withMode<R>(changes: Partial<Mode>, op: string, fn: () => R): R {
  const { capture, session, training } = mode;
  Object.assign(mode, changes);
  try {
    const result = fn();
    if (isPromise(result)) {
      throw new ArgumentError('the function is asynchronous', {
        op,
        expected: 'a function that returns its result',
        actual: 'a function that returns a promise',
        advice: 'await data before the call, not inside',
      });
    }
    return result;
  } finally {
    mode.capture = capture;
    mode.session = session;
    mode.training = training;
  }
}

function isPromise(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value;
}
