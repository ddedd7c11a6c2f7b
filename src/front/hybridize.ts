import { unflatten } from '../base/tree.js';
import type { Explanation } from './explain.js';
import { checkOptions, type HybridizeOptions } from './hybridizeoptions.js';
import { install } from './install.js';
import { mode, refuseAsync, withMode } from './mode.js';
import { signatureOf } from './signature.js';
import { StaticGraph } from './staticgraph.js';
import { distinctPositions } from './trace.js';
import { TraceCache } from './tracecache.js';

install();

/** A function that runs as captured, compiled graphs. */
export type Hybridized<F extends (...args: never[]) => unknown> = F & {
  /** What was captured so far, how often it was used, and why it was captured again. */
  explain(): Explanation;
  /** The graph that a call on these arguments runs. */
  graphFor(...args: Parameters<F>): StaticGraph;
};

/**
 * A function that does what `fn` does, from graphs captured by running `fn` once for each signature: the
 * nesting of its arguments, their dtypes and shapes, other arguments by value (functions by identity),
 * whether it is recorded and in training, and the types of arrays that it uses from outside. When sizes
 * keep changing they become symbols.
 *
 * Arrays that `fn` uses from outside are inputs of the graph: it sees their values at each call. State
 * that `fn` assigns to is written after each call. Inside other captured code the function is simply
 * part of it.
 *
 * @throws TraceError for an asynchronous function, for reading a value while `fn` is captured, and for
 * code that captures another graph the second time; ArgumentError for options that there are not.
 */
export function hybridize<F extends (...args: never[]) => unknown>(
  fn: F,
  options: HybridizeOptions = {},
): Hybridized<F> {
  const op = 'hybridize';
  checkOptions(options);
  const traces = new TraceCache(fn, options);
  const run = (...args: Parameters<F>): unknown => {
    if (options.active === false) return fn(...args);
    refuseAsync(fn, op);
    if (mode.capture !== null) return withMode({}, op, () => fn(...args));
    const signature = signatureOf(args);
    const { leaves } = signature;
    const { trace, results } = traces.call(
      signature,
      distinctPositions(leaves).map((i) => leaves[i]),
    );
    return unflatten(trace.outputs, results);
  };
  return Object.assign(run as unknown as F, {
    explain: () => traces.explain(),
    graphFor: (...args: Parameters<F>) =>
      new StaticGraph(traces.find(signatureOf(args)).trace.parts),
  });
}
