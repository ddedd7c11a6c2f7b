import { named } from '../../base/errors.js';
import { unflattenTree } from '../../base/attributes/tree.js';
import { BareCall } from '../caches/bare-call.js';
import type { Explanation } from '../caches/explain.js';
import { checkHybridizeOptions, type HybridizeOptions } from '../options/hybridize-options.js';
import { mode, refuseAsync, withMode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { Schedule } from './schedule.js';
import { signatureOf } from '../graphs/signature.js';
import type { GraphParts } from '../graphs/graph.js';
import { StaticGraph } from '../graphs/static-graph.js';
import { distinctPositions } from '../tracing/trace.js';
import { profiling } from '../../runtime/profile/recorder.js';
import { TraceCache } from '../caches/trace-cache.js';

type AnyFunction = (...args: never[]) => unknown;

/** A function and the graphs captured from it: the implementation of `hybridize` and `staticGraph`. */
export class Captured {
  readonly #op: string;
  readonly #fn: AnyFunction;
  readonly #traces: TraceCache;
  /** Makes the cache of traces in which layers do without sizes that the data decides. */
  readonly #makeStatic: () => TraceCache;
  #static: TraceCache | null = null;

  /** @param mayRunCode Side-effect code may cut the graphs. */
  constructor(op: string, fn: AnyFunction, options: HybridizeOptions, mayRunCode: boolean) {
    checkHybridizeOptions(options);
    this.#op = op;
    this.#fn = fn;
    const make = (): TraceCache => new TraceCache(op, fn, options, mayRunCode);
    this.#traces = make();
    this.#makeStatic = make;
  }

  /** Runs the graph for these arguments. Inside other captured code the function is inlined. */
  call(args: readonly unknown[]): unknown {
    refuseAsync(this.#fn, this.#op);
    if (mode.capture !== null) return withMode({}, this.#op, () => this.#fn(...(args as never[])));
    const begin = profiling.recorder?.now ?? 0;
    const results = this.#run(args);
    profiling.recorder?.host('operator', this.#traces.name, begin);
    return results;
  }

  #run(args: readonly unknown[]): unknown {
    return this.#named(() => {
      const again = this.#traces.again(args);
      if (again !== null) {
        return unflattenTree(again.trace.outputs, again.run(args as readonly NDArray[]));
      }
      const signature = signatureOf(args);
      const { leaves } = signature;
      const given = distinctPositions(leaves).map((i) => leaves[i]);
      const bare = BareCall.of(args);
      const { entry, results } = this.#traces.call(signature, given);
      this.#traces.remember(bare, entry);
      return unflattenTree(entry.trace.outputs, results);
    });
  }

  explain(): Explanation {
    return this.#traces.explain();
  }

  graphFor(args: readonly unknown[]): StaticGraph {
    refuseAsync(this.#fn, this.#op);
    const find = (traces: TraceCache): GraphParts =>
      this.#named(() => traces.find(signatureOf(args)).trace.segments[0].parts);
    const { session, training } = mode;
    const captureStatic = (): StaticGraph => {
      const traces = (this.#static ??= this.#makeStatic());
      const changes = { session, training, hasStaticSizes: true };
      return new StaticGraph(withMode(changes, this.#op, () => find(traces)));
    };
    return new StaticGraph(find(this.#traces), captureStatic);
  }

  #named<R>(step: () => R): R {
    try {
      return step();
    } catch (error) {
      throw named(error, this.#op);
    }
  }

  get schedules(): readonly Schedule[] {
    return this.#traces.entries.map((entry) => new Schedule(entry));
  }
}
