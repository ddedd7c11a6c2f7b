import { callable, checkArgument } from '../../base/attributes/options.js';
import { Captured } from './captured.js';
import type { Explanation } from '../caches/explain.js';
import type { HybridizeOptions } from '../options/hybridize-options.js';
import { checkHybridizeOptions } from '../options/hybridize-options.js';
import { install } from '../arrays/install.js';
import { setOriginal } from '../options/originals.js';
import { refuseUnconverted } from './unconverted.js';
import type { StaticGraph } from '../graphs/static-graph.js';

install();

/** A function that runs as captured, compiled graphs. */
export type Hybridized<F extends (...args: never[]) => unknown> = F & {
  /** Report on the captures, their use counts, and the reasons of recaptures. */
  explain(): Explanation;
  /** The graph that a call on these arguments runs. */
  graphFor(...args: Parameters<F>): StaticGraph;
};

/**
 * A function that behaves like `fn`, run from graphs that are captured by tracing `fn` once for each
 * signature: the nesting of its arguments, their dtypes and shapes, other arguments by value (functions by
 * identity), recording and training mode, the types of captured outer arrays, and the fields of blocks that
 * it calls. Sizes that keep changing become symbols. Other dependences are verified from time to time: see
 * `verify`.
 *
 * Outer arrays that `fn` uses are inputs of the graph: their values are read at each call. State that `fn`
 * assigns to is written after each call. Inside other captured code the function is inlined.
 *
 * @throws TraceError for an asynchronous function, for reading a value while `fn` is captured, and, at
 * verified calls, for code that has changed; ArgumentError for unknown options.
 */
export function hybridize<F extends (...args: never[]) => unknown>(
  fn: F,
  options: HybridizeOptions = {},
): Hybridized<F> {
  checkArgument('hybridize', 'fn', fn, callable);
  checkHybridizeOptions(options);
  refuseUnconverted(fn, 'hybridize');
  const { active = true } = options;
  const captured = active ? new Captured('hybridize', fn, options, false) : null;
  const known = (): Captured => captured ?? new Captured('hybridize', fn, options, false);
  const run = (...args: Parameters<F>): unknown =>
    captured === null ? fn(...args) : captured.call(args);
  setOriginal(run, fn);
  return Object.assign(run as unknown as F, {
    explain: () => known().explain(),
    graphFor: (...args: Parameters<F>) => known().graphFor(args),
  });
}
