import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import { callable, checkArgument, valueRule } from '../../base/attributes/options.js';
import { setOriginal } from '../options/originals.js';
import { config } from '../arrays/config.js';
import type { Explanation } from '../caches/explain.js';
import { checkHybridizeOptions, type HybridizeOptions } from '../options/hybridize-options.js';
import { install } from '../arrays/install.js';
import { refuseAsync } from '../core/mode.js';
import { Owners } from './owners.js';
import type { Schedule } from './schedule.js';
import type { StaticGraph } from '../graphs/static-graph.js';

install();

type AnyFunction = (...args: never[]) => unknown;

/** A function that runs as static graphs, with side-effect code between them. */
export type StaticFunction<F extends AnyFunction> = F & {
  /** Report on the captures, their use counts, and the reasons of recaptures. */
  explain(): Explanation;
  /**
   * The graph for these arguments, up to the first side-effect code; captured by tracing the function if
   * necessary.
   */
  graphFor(...args: Parameters<F>): StaticGraph;
  /** Cached captures, one for each signature; the least recently used are evicted. */
  readonly schedules: readonly Schedule[];
};

/**
 * Chainer's `static_graph`: a function that runs from captured graphs, like `hybridize`, and may contain
 * side-effect code (`staticCode`), which runs on every call, in order, with the real arrays. It may be called
 * any number of times before gradients are requested, with any shapes and modes; inside another captured
 * function it is inlined. `config.useStaticGraph = false` turns it off.
 *
 * Wraps a function, decorates a method (`@kn.staticGraph`), or makes a decorator from options
 * (`@kn.staticGraph({ verify: 'always' })`). Each object has graphs of its own.
 */
export function staticGraph<F extends AnyFunction>(
  fn: F,
  context: ClassMethodDecoratorContext,
): StaticFunction<F>;
export function staticGraph<F extends AnyFunction>(
  fn: F,
  options?: HybridizeOptions,
): StaticFunction<F>;
export function staticGraph(
  options: HybridizeOptions,
): <F extends AnyFunction>(fn: F, context: ClassMethodDecoratorContext) => StaticFunction<F>;
export function staticGraph(
  subject: AnyFunction | HybridizeOptions,
  extra: ClassMethodDecoratorContext | HybridizeOptions = {},
): unknown {
  if (typeof extra === 'object' && extra !== null && 'kind' in extra) {
    checkMethod(extra);
    checkArgument('staticGraph', 'fn', subject, callable);
    return wrap(subject, { name: String(extra.name) });
  }
  if (typeof subject === 'function') return wrap(subject, extra);
  checkHybridizeOptions(subject);
  return (method: AnyFunction, context: ClassMethodDecoratorContext) => {
    checkArgument('staticGraph', 'context', context, decoratorContext);
    checkMethod(context);
    checkArgument('staticGraph', 'method', method, callable);
    return wrap(method, { name: String(context.name), ...subject });
  };
}

const decoratorContext = valueRule(
  'what a decorator is given: options alone make a decorator, no function',
  (value): value is ClassMethodDecoratorContext => typeof value === 'object' && value !== null,
);

function checkMethod({
  kind,
  name,
}: {
  readonly kind: string;
  readonly name: string | symbol;
}): void {
  if (kind === 'method') return;
  throw new ArgumentError('only methods become static graphs', {
    op: 'staticGraph',
    expected: 'a decorated method',
    actual: `the ${kind} ${String(name)}`,
    advice: 'wrap the function instead: forward = kn.staticGraph((x) => ...)',
  });
}

function wrap(fn: AnyFunction, options: HybridizeOptions): unknown {
  if (!callable.accepts(fn)) {
    throw new ArgumentError('there is no function to capture', {
      op: 'staticGraph',
      expected: 'a function, or a decorated method',
      actual: describe(fn),
    });
  }
  checkHybridizeOptions(options);
  refuseAsync(fn, 'staticGraph');
  const owners = new Owners('staticGraph', fn, options, true);
  const { active = true } = options;
  const run = function (this: unknown, ...args: never[]): unknown {
    if (!active || !config.useStaticGraph) return fn.apply(this as never, args);
    return owners.captured(this).call(args);
  };
  setOriginal(run, fn);
  Object.defineProperties(run, {
    name: { value: fn.name },
    explain: { value: () => owners.explain() },
    graphFor: {
      value(this: unknown, ...args: never[]) {
        return owners.captured(this === run ? undefined : this).graphFor(args);
      },
    },
    schedules: { get: () => owners.schedules },
  });
  return run;
}
