import type { Capture } from '../core/capture.js';
import { drawsMoment, drawsSoFar } from '../dispatch/generator.js';
import { isGuarded } from './values/host.js';
import type { ChangeLog } from './values/path.js';
import type { Variables } from './values/variables.js';

/* Effects of code that is captured, other than the values that it gives. */

/** Effects of captured code that stay, other than its results, and than changes of JavaScript's objects. */
function lastingEffectsOf({ gradients, calls }: Capture): readonly unknown[] {
  const { assigned, reads, attached, marks, modes } = gradients;
  return [
    ...[assigned, reads, attached, modes].flatMap((each) => [each.size, ...[...each].flat()]),
    ...[...marks].flat(),
    calls.cuts,
  ];
}

/** Effects that can be taken back: state that is read and written, and draws. */
function passingEffectsOf(capture: Capture): readonly unknown[] {
  const { updates, reads } = capture.state;
  return [...[...updates].flat(), ...[...reads].flat(), ...drawsSoFar(capture)];
}

/** Notes the effects so far that can be taken back. @returns A function that goes back to them. */
export function effectsMoment(capture: Capture): () => void {
  const moments = [capture.state.moment(), drawsMoment(capture)];
  return () => moments.forEach((goBack) => goBack());
}

/** True if the same values are there. */
function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((each, i) => Object.is(each, b[i]));
}

/** Watches for effects from its construction on. */
export class EffectWatch {
  readonly #capture: Capture;
  readonly #lasting: readonly unknown[];
  readonly #passing: readonly unknown[];
  readonly #isGuarded: boolean = isGuarded();

  constructor(capture: Capture) {
    this.#capture = capture;
    this.#passing = passingEffectsOf(capture);
    this.#lasting = lastingEffectsOf(capture);
  }

  /** True if there may have been effects on what replays see. */
  get hasEffects(): boolean {
    return this.hasLastingEffects || !isSame(this.#passing, passingEffectsOf(this.#capture));
  }

  /** True if there may have been effects that cannot be taken back. */
  get hasLastingEffects(): boolean {
    return (
      this.#capture.kind !== 'trace' ||
      this.#isGuarded ||
      !isSame(this.#lasting, lastingEffectsOf(this.#capture))
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
