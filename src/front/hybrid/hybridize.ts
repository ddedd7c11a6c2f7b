import { callable, checkArgument } from '../../base/attributes/options.js';
import type { Explanation } from '../caches/explain.js';
import type { HybridizeOptions } from '../options/hybridize-options.js';
import { checkHybridizeOptions } from '../options/hybridize-options.js';
import { install } from '../arrays/install.js';
import { setOriginal } from '../options/originals.js';
import { Owners, takesThis } from './owners.js';
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
 * assigns to is written after each call. Inside other captured code the function is inlined. Called as a method,
 * a function that names `this` has graphs of its own for each object, whose fields are guarded like those of blocks.
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
  const { active = true } = options;
  const owners = new Owners('hybridize', fn, options, false);
  const isMethod = takesThis(fn);
  const run = function (this: unknown, ...args: Parameters<F>): unknown {
    if (!active) return fn.apply(this as never, args);
    return owners.captured(isMethod ? this : undefined).call(args);
  };
  setOriginal(run, fn);
  return Object.assign(run as unknown as F, {
    explain: () => owners.explain(),
    graphFor: (...args: Parameters<F>) => owners.captured(undefined).graphFor(args),
  });
}
