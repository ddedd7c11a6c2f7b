import { TraceError } from '../../base/errors.js';
import { callable, checkArgument } from '../../base/attributes/options.js';
import { mode, withMode } from './mode.js';

/** Side-effect code: it runs on every call, in order, with real arrays. */
export type StaticCode = (...args: never[]) => unknown;

/** Side-effect code where captured code cannot be cut. */
export class CutError extends TraceError {}

/**
 * Marks code that must not become part of a static graph: logging, inspecting values, reading files, host
 * computation. Inside a `staticGraph` function it runs on every call, in its place between the operators,
 * with the real arrays; the graph is cut there. Its results may be used by later code: arrays are new on each
 * call, with the dtypes and shapes of the first; other values must be the same on each call. Gradients do not
 * flow through it, captured or not, and state may not be assigned to from inside a recording.
 */
export function staticCode<F extends StaticCode>(fn: F): F {
  checkArgument('staticCode', 'fn', fn, callable);
  const run = (...args: Parameters<F>): unknown => {
    const { capture } = mode;
    if (capture === null || capture.kind === 'deferred') return runStaticCode(fn, args);
    if (capture.onStaticCode === null) {
      throw new CutError('side-effect code was reached in a graph that cannot be cut', {
        op: 'staticCode',
        actual: fn.name || 'a function',
        advice:
          'capture the function with staticGraph in the place of hybridize; not inside the body of a loop, a branch or customGradient',
      });
    }
    return capture.onStaticCode(fn, args);
  };
  return run as F;
}

/** Runs side-effect code now: unrecorded and uncaptured, in the current training mode. */
export function runStaticCode(fn: StaticCode, args: readonly unknown[]): unknown {
  return withMode({ capture: null, session: null }, 'staticCode', () => fn(...(args as never[])));
}
