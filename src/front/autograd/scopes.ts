import { callable, checkArgument, checkOptions, flag } from '../../base/attributes/options.js';
import { Session } from '../core/history.js';
import { mode, withMode } from '../core/mode.js';

/** How layers behave while calls are recorded. */
export interface RecordOptions {
  /** Whether layers behave as in training meanwhile. Default true. */
  readonly trainMode?: boolean;
}

/** How layers behave while nothing is recorded. */
export interface PauseOptions {
  /** Whether layers behave as in training meanwhile. Default false. */
  readonly trainMode?: boolean;
}

/**
 * Runs `fn` and records its operator calls, so that gradients of what it computes can be asked for. Inside
 * another `record` it goes on with that one's recording.
 */
export function record<R>(fn: () => R, options: RecordOptions = {}): R {
  checkScope('autograd.record', fn, options);
  const session = mode.session ?? new Session();
  return withMode(
    { session, training: options.trainMode ?? true, isPaused: false },
    'autograd.record',
    fn,
  );
}

/** Runs `fn` without recording, even inside `record`: its results are constants to gradients. */
export function pause<R>(fn: () => R, options: PauseOptions = {}): R {
  checkScope('autograd.pause', fn, options);
  return withMode(
    { session: null, training: options.trainMode ?? false, isPaused: true },
    'autograd.pause',
    fn,
  );
}

/** Runs `fn` with layers behaving as in training. Recording stays as it is. */
export function trainMode<R>(fn: () => R): R {
  checkArgument('autograd.trainMode', 'fn', fn, callable);
  return withMode({ training: true }, 'autograd.trainMode', fn);
}

/** Runs `fn` with layers behaving as in prediction. Recording stays as it is. */
export function predictMode<R>(fn: () => R): R {
  checkArgument('autograd.predictMode', 'fn', fn, callable);
  return withMode({ training: false }, 'autograd.predictMode', fn);
}

function checkScope(op: string, fn: unknown, options: unknown): void {
  checkArgument(op, 'fn', fn, callable);
  checkOptions<PauseOptions>(op, options, { trainMode: flag });
}

/** Whether operator calls are being recorded: inside `record`, unless `pause` lies in between. */
export function isRecording(): boolean {
  return mode.session !== null;
}

/** Whether layers are to behave as in training; false outside of all scopes. */
export function isTraining(): boolean {
  return mode.training;
}
