import { callable, checkArgument, checkOptions, flag } from '../../base/attributes/options.js';
import { Session } from '../core/history.js';
import { mode, withMode } from '../core/mode.js';

/** Options of `record`. */
export interface RecordOptions {
  /** Training mode of layers. Default true. */
  readonly trainMode?: boolean;
}

/** Options of `pause`. */
export interface PauseOptions {
  /** Training mode of layers. Default false. */
  readonly trainMode?: boolean;
}

/**
 * Runs `fn` and records its operator calls for gradients. Inside another `record` it continues that
 * recording. A recording ends when `fn` throws: the arrays that it has read may be changed again.
 */
export function record<R>(fn: () => R, options: RecordOptions = {}): R {
  checkScope('autograd.record', fn, options);
  const outer = mode.session;
  const changes = { session: outer ?? new Session(), training: options.trainMode ?? true, isPaused: false }; // prettier-ignore
  return withMode(changes, 'autograd.record', () => {
    try {
      return fn();
    } catch (error) {
      if (outer === null && mode.session !== null) mode.session.isOpen = false;
      throw error;
    }
  });
}

/** Runs `fn` without recording, even inside `record`: its results are constants for gradients. */
export function pause<R>(fn: () => R, options: PauseOptions = {}): R {
  checkScope('autograd.pause', fn, options);
  return withMode(
    { session: null, training: options.trainMode ?? false, isPaused: true },
    'autograd.pause',
    fn,
  );
}

/** Runs `fn` in training mode. Recording is unaffected. */
export function trainMode<R>(fn: () => R): R {
  checkArgument('autograd.trainMode', 'fn', fn, callable);
  return withMode({ training: true }, 'autograd.trainMode', fn);
}

/** Runs `fn` in prediction mode. Recording is unaffected. */
export function predictMode<R>(fn: () => R): R {
  checkArgument('autograd.predictMode', 'fn', fn, callable);
  return withMode({ training: false }, 'autograd.predictMode', fn);
}

function checkScope(op: string, fn: unknown, options: unknown): void {
  checkArgument(op, 'fn', fn, callable);
  checkOptions<PauseOptions>(op, options, { trainMode: flag });
}

/** True while operator calls are recorded: inside `record`, and not inside `pause` within it. */
export function isRecording(): boolean {
  return mode.session !== null;
}

/** True in training mode; false outside of all scopes. */
export function isTraining(): boolean {
  return mode.training;
}
