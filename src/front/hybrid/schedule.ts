import { StaticGraph } from '../graphs/static-graph.js';
import { type Step, stepThrough } from './step.js';
import type { CachedTrace } from '../caches/cached-trace.js';

/** The captures of a static function for one signature. */
export class Schedule {
  /** The arguments and the mode it serves. */
  readonly signature: string;
  /** Its graphs in order; side-effect code runs between them. */
  readonly graphs: readonly StaticGraph[];
  readonly #entry: CachedTrace;

  /** @internal */
  constructor(entry: CachedTrace) {
    this.#entry = entry;
    this.signature = entry.signature;
    this.graphs = entry.trace.segments.map(({ parts }) => new StaticGraph(parts));
  }

  /** Number of calls it has served. */
  get calls(): number {
    return this.#entry.calls;
  }

  /** Its graph, up to the first side-effect code if there is any. */
  get graph(): StaticGraph {
    return this.graphs[0];
  }

  /**
   * Reruns the latest call, an operator at a time, on its arguments and the current state. Nothing is
   * changed, and side-effect code is not run: its recorded results are shown.
   */
  step(): IterableIterator<Step> {
    return stepThrough(this.#entry.runner);
  }
}
