import { MadeByFunctions } from '../../base/made.js';
import { StaticGraph } from '../graphs/static-graph.js';
import { type Step, stepThrough } from './step.js';
import type { Entry } from '../caches/trace-cache.js';

/** What a static function has captured for one signature. */
export class Schedule extends MadeByFunctions {
  /** The arguments and the mode it serves. */
  readonly signature: string;
  /** Its graphs in order: side-effect code runs between one and the next. */
  readonly graphs: readonly StaticGraph[];
  readonly #entry: Entry;

  /** @internal */
  constructor(entry: Entry) {
    super();
    this.#entry = entry;
    this.signature = entry.signature;
    this.graphs = entry.trace.segments.map(({ parts }) => new StaticGraph(parts));
  }

  /** How many calls it has served. */
  get calls(): number {
    return this.#entry.calls;
  }

  /** Its graph, up to the first side-effect code if there is any. */
  get graph(): StaticGraph {
    return this.graphs[0];
  }

  /**
   * Runs the latest call once more, an operator at a time, on its arguments and on the state there is
   * now. Nothing is changed, and side-effect code is shown with what it gave, not run again.
   */
  step(): IterableIterator<Step> {
    return stepThrough(this.#entry.runner);
  }
}
