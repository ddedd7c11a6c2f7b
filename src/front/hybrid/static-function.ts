import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import { callable, checkArgument, valueRule } from '../../base/attributes/options.js';
import { isCapturable } from '../options/capturable.js';
import { noteFields } from '../core/capture.js';
import { setOriginal } from '../options/originals.js';
import { refuseUnconverted } from './unconverted.js';
import { Captured } from './captured.js';
import { config } from '../arrays/config.js';
import { type Explanation, mergeExplanations } from '../caches/explain.js';
import { checkHybridizeOptions, type HybridizeOptions } from '../options/hybridize-options.js';
import { install } from '../arrays/install.js';
import { refuseAsync } from '../core/mode.js';
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
  const owners = new Owners(fn, options);
  const { active = true } = options;
  const run = function (this: unknown, ...args: never[]): unknown {
    if (!active || !config.useStaticGraph) return fn.apply(this as never, args);
    return owners.captured(this).call(args);
  };
  setOriginal(run, fn);
  Object.defineProperties(run, {
    name: { value: fn.name },
    explain: { value: () => mergeExplanations(owners.all().map((each) => each.explain())) },
    graphFor: {
      value(this: unknown, ...args: never[]) {
        return owners.captured(this === run ? undefined : this).graphFor(args);
      },
    },
    schedules: { get: () => owners.all().flatMap(({ schedules }) => schedules) },
  });
  return run;
}

/** The graphs of a function, or of a method by the object that it was called on. */
class Owners {
  readonly #fn: AnyFunction;
  readonly #options: HybridizeOptions;
  readonly #plain: Captured;
  readonly #byObject: WeakMap<object, Captured> = new WeakMap();
  /** Graphs live as long as their object; this list only enumerates them. */
  #known: WeakRef<Captured>[] = [];

  constructor(fn: AnyFunction, options: HybridizeOptions) {
    this.#fn = fn;
    this.#options = options;
    refuseAsync(fn, 'staticGraph');
    refuseUnconverted(fn, 'staticGraph');
    this.#plain = this.#capture(undefined, {});
  }

  captured(owner: unknown): Captured {
    if (typeof owner !== 'object' || owner === null) return this.#plain;
    let captured = this.#byObject.get(owner);
    if (captured === undefined) {
      captured = this.#capture(owner, isCapturable(owner) ? owner.captureOptions() : {});
      this.#byObject.set(owner, captured);
      this.#known = [...this.#known.filter((ref) => ref.deref()), new WeakRef(captured)];
    }
    return captured;
  }

  all(): readonly Captured[] {
    return [this.#plain, ...this.#known.flatMap((ref) => ref.deref() ?? [])];
  }

  #capture(owner: unknown, parts: HybridizeOptions): Captured {
    const bound = (...args: never[]): unknown => {
      if (typeof owner === 'object' && owner !== null) noteFields(owner, 'this');
      return this.#fn.apply(owner as never, args);
    };
    setOriginal(bound, this.#fn);
    const options = { name: this.#fn.name || 'function', ...parts, ...this.#options };
    return new Captured('staticGraph', bound, options, true);
  }
}
