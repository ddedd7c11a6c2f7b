import type { Capture } from '../core/capture.js';
import type { NDArray } from '../core/ndarray.js';
import { effectsMoment, EffectWatch } from './effects.js';
import { objectsIn } from './values/tracking.js';
import {
  type ChangeLog,
  currentPath,
  giveUp,
  logging,
  objectsMade,
  type Rows,
} from './values/path.js';
import { Retrace } from './values/trace-facts.js';
import { restore, saveVariables, type Variables } from './values/variables.js';

/*
 * The first iteration of a loop whose test the host decides runs by value. Where it turns out that a captured array
 * decides how the loop goes on, the loop begins again, as one operator: otherwise the graph would hold a copy of the
 * body. That is possible where nothing is left of the iteration but calls that nobody reads.
 */

/** A run of the first iteration that can be taken back. */
export class FirstIteration<R> {
  readonly result: R;
  readonly #capture: Capture;
  readonly #variables: readonly Variables[];
  readonly #saved: readonly ReturnType<typeof saveVariables>[];
  readonly #log: ChangeLog;
  readonly #pushed: ReadonlyMap<object, readonly Rows[]>;
  readonly #present: ReadonlyMap<NDArray, boolean>;
  readonly #removeCalls: () => () => void;
  readonly #watch: EffectWatch;
  readonly #effects: () => void;
  readonly #start: number = objectsMade();

  constructor(capture: Capture, variables: readonly Variables[], run: () => R) {
    this.#capture = capture;
    this.#variables = variables;
    this.#saved = variables.map(saveVariables);
    this.#pushed = new Map(currentPath().pushed);
    this.#present = new Map(currentPath().present);
    this.#removeCalls = capture.calls.moment();
    this.#watch = new EffectWatch(capture);
    this.#effects = effectsMoment(capture);
    const { result, log } = logging(run);
    this.result = result;
    this.#log = log;
  }

  /**
   * Runs the whole loop in place of the iteration; null where that cannot be, and then the iteration has run. An error
   * of `replace` is none of the user's: with the first iteration by value the loop is traced in another way.
   */
  replacedBy<T extends object>(replace: () => T): T | null {
    if (this.#watch.hasLastingEffects || !this.#isTracked()) return null;
    const after = this.#variables.map(saveVariables);
    const pushed = new Map(currentPath().pushed);
    const lists = [...this.#log.lists.keys()].map((list) => [list, [[...list.entries], [...list.rows]]] as const); // prettier-ignore
    const putCallsBack = this.#removeCalls();
    const parts = [...this.#log.parts.values()].flatMap((own) => [...own.values()]);
    const again = [effectsMoment(this.#capture), ...parts.map(({ moment }) => moment())];
    const goBack = [this.#effects, ...parts.map((part) => part.goBack).reverse()];
    this.#return(this.#saved, this.#log.lists, this.#pushed, goBack);
    giveUp(this.#start);
    try {
      return replace();
    } catch (error) {
      // A construct around is traced again.
      if (error instanceof Retrace) throw error;
      this.#return(after, lists, pushed, again);
      putCallsBack();
      return null;
    }
  }

  /** True if all that has changed and cannot be taken back by itself is variables, what they hold, and new objects. */
  #isTracked(): boolean {
    const held = new Set<object | null>(this.#saved.flatMap(({ members }) => members).flatMap(objectsIn)); // prettier-ignore
    for (const each of this.#saved.flatMap(({ environments }) => environments)) held.add(each);
    const { lasting, made } = this.#log;
    return [...lasting].every((object) => held.has(object) || made.has(object));
  }

  #return(
    saved: readonly ReturnType<typeof saveVariables>[],
    lists: Iterable<readonly [ListParts, readonly [entries: readonly unknown[], rows: readonly Rows[]]]>, // prettier-ignore
    pushed: ReadonlyMap<object, readonly Rows[]>,
    parts: readonly (() => void)[],
  ): void {
    for (const goBack of parts) goBack();
    this.#variables.forEach((each, i) => restore(each, saved[i]));
    for (const [list, [entries, rows]] of lists) {
      list.entries.splice(0, Infinity, ...entries);
      list.rows.splice(0, Infinity, ...rows);
    }
    const path = currentPath();
    path.pushed.clear();
    path.present.clear();
    for (const [flag, holds] of this.#present) path.present.set(flag, holds);
    for (const [list, rows] of pushed) path.pushed.set(list, rows);
  }
}

type ListParts = Parameters<ChangeLog['lists']['get']>[0];
