import type { Capture } from '../core/capture.js';
import { drawsSoFar } from '../dispatch/generator.js';
import { isGuarded } from './values/host.js';
import type { ChangeLog } from './values/path.js';
import type { Variables } from './values/variables.js';

/* Effects of code that is captured, other than the values that it gives. */

/** Effects of captured code other than its results, and than changes of JavaScript's objects. */
function effectsOf({ state, gradients, calls }: Capture): readonly unknown[] {
  const { assigned, reads, attached, marks, modes } = gradients;
  return [
    ...[...state.updates].flat(),
    ...[...state.reads].flat(),
    ...[assigned, reads, attached, modes].flatMap((each) => [each.size, ...[...each].flat()]),
    ...[...marks].flat(),
    calls.all?.length,
  ];
}

/** True if the same values are there. */
function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((each, i) => Object.is(each, b[i]));
}

/** Watches for effects from its construction on. */
export class EffectWatch {
  readonly #capture: Capture;
  readonly #effects: readonly unknown[];
  readonly #draws: number | null;
  readonly #isGuarded: boolean = isGuarded();

  constructor(capture: Capture) {
    this.#capture = capture;
    this.#draws = drawsSoFar(capture);
    this.#effects = effectsOf(capture);
  }

  /** True if there may have been effects on what replays see. */
  get hasEffects(): boolean {
    return (
      this.#capture.kind !== 'trace' ||
      this.#isGuarded ||
      this.#draws !== drawsSoFar(this.#capture) ||
      !isSame(this.#effects, effectsOf(this.#capture))
    );
  }
}

/** Watches for all that code changes: effects, variables, objects and lists. */
export class ChangeWatch {
  readonly #effects: EffectWatch;
  readonly #variables: readonly Variables[];
  readonly #values: readonly unknown[];
  readonly #log: ChangeLog;

  constructor(capture: Capture, variables: readonly Variables[], log: ChangeLog) {
    this.#effects = new EffectWatch(capture);
    this.#variables = variables;
    this.#values = valuesOf(variables);
    this.#log = log;
  }

  /** True if running the code once more, or not at all, makes no difference but for its value. */
  get isPure(): boolean {
    const { changed, made, lists } = this.#log;
    return (
      lists.size === 0 &&
      [...changed].every((object) => made.has(object)) &&
      isSame(this.#values, valuesOf(this.#variables)) &&
      !this.#effects.hasEffects
    );
  }
}

function valuesOf(variables: readonly Variables[]): readonly unknown[] {
  return variables.flatMap(({ get }) => get());
}
