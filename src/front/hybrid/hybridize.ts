import { callable, checkArgument } from '../../base/attributes/options.js';
import { Captured } from './captured.js';
import type { Explanation } from '../caches/explain.js';
import type { HybridizeOptions } from '../options/hybridize-options.js';
import { checkOptions } from '../options/hybridize-options.js';
import { install } from '../arrays/install.js';
import type { StaticGraph } from '../graphs/static-graph.js';

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
 * whether it is recorded and in training, the types of arrays that it uses from outside, and the fields of
 * blocks that it calls. When sizes keep changing they become symbols. Whatever else it depends on is compared
 * from time to time: see `verify`.
 *
 * Arrays that `fn` uses from outside are inputs of the graph: it sees their values at each call. State
 * that `fn` assigns to is written after each call. Inside other captured code the function is simply
 * part of it.
 *
 * @throws TraceError for an asynchronous function, for reading a value while `fn` is captured, and, at the
 * calls that are compared, for code that has changed; ArgumentError for options that there are not.
 */
export function hybridize<F extends (...args: never[]) => unknown>(
  fn: F,
  options: HybridizeOptions = {},
): Hybridized<F> {
  checkArgument('hybridize', 'fn', fn, callable);
  checkOptions(options);
  const { active = true } = options;
  const captured = active ? new Captured('hybridize', fn, options, false) : null;
  const known = (): Captured => captured ?? new Captured('hybridize', fn, options, false);
  const run = (...args: Parameters<F>): unknown =>
    captured === null ? fn(...args) : captured.call(args);
  return Object.assign(run as unknown as F, {
    explain: () => known().explain(),
    graphFor: (...args: Parameters<F>) => known().graphFor(args),
  });
}
