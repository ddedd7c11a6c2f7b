import { mode } from '../core/mode.js';
import { ChangeWatch } from './effects.js';
import type { Completion } from './completion.js';
import { currentPath, logging, type TracedPath } from './values/path.js';
import type { Variables } from './values/variables.js';

/*
 * A loop is left at the start of its body where nothing but tests comes before: `while (a) { if (b) break; ... }` runs
 * as long as `a && !b`. The test of the loop asks these tests, too, by running the body up to the last of them, and the
 * iteration then passes them. What is computed before them is computed for each anew; it has no effects.
 */

/** The statements that leave a loop at the start of its body. No other jump leaves the loop. */
export interface LeadingExits {
  readonly count: number;
  /** True where each is a `break` of the loop alone. */
  readonly areBreaks: boolean;
}

/** The treatment of the statements by a run of the body. */
type Treatment =
  /** The first test that a captured array decides ends the run, if nothing has changed before. */
  | 'seek'
  /** The run ends with the last test, and gives whether none leaves the loop. */
  | 'ask'
  /** None leaves the loop. */
  | 'pass'
  /** The first one does, as is known. */
  | 'leave';

interface BodyRun {
  readonly treatment: Treatment;
  readonly count: number;
  readonly watch: ChangeWatch | null;
  /** Checked calls before it. */
  readonly checked: number;
  path: TracedPath;
}

/** The innermost loop whose body runs; null where it has no such statements, or where they are like others. */
let innermost: BodyRun | null = null;

/** The value that such a run of a body returns. */
class Answer {
  readonly goesOn: unknown;

  constructor(goesOn: unknown) {
    this.goesOn = goesOn;
  }
}

/** Thrown where the tests cannot be asked before the body runs. */
export class NotLeading extends Error {}

/** Runs the body of a loop as one without leading exits. */
export function runBody(body: () => Completion): Completion {
  return within(null, body);
}

/** Runs the body up to a test among the first statements that a captured array decides; null where there is one. */
export function seekExit(
  { count }: LeadingExits,
  variables: readonly Variables[],
  body: () => Completion,
): { readonly completion: Completion } | null {
  const { capture } = mode;
  if (count === 0 || capture === null) return { completion: runBody(body) };
  const { result } = logging((log) =>
    within(bodyRun('seek', count, new ChangeWatch(capture, variables, log)), body),
  );
  return answerOf(result) === null ? { completion: result } : null;
}

/** Runs the tests of leading exits. @returns False, true or an array: true if none leaves the loop. */
export function askExits({ count }: LeadingExits, body: () => Completion): unknown {
  const answer = answerOf(within(bodyRun('ask', count), body));
  if (answer === null) throw new NotLeading();
  return answer.goesOn;
}

/** Runs the body where no leading exit leaves the loop. */
export function passExits({ count }: LeadingExits, body: () => Completion): Completion {
  return within(count === 0 ? null : bodyRun('pass', count), body);
}

/** Does what the only leading exit does. */
export function leaveByExit({ count }: LeadingExits, body: () => Completion): Completion {
  return within(bodyRun('leave', count), body);
}

function bodyRun(treatment: Treatment, count: number, watch: ChangeWatch | null = null): BodyRun {
  const checked = mode.capture?.calls.checked.length ?? 0;
  return { treatment, count, watch, checked, path: currentPath() };
}

function within(run: BodyRun | null, body: () => Completion): Completion {
  const around = innermost;
  innermost = run;
  try {
    return body();
  } finally {
    innermost = around;
  }
}

function answerOf(completion: Completion): Answer | null {
  const value = completion?.kind === 'return' ? completion.value : null;
  return value instanceof Answer ? value : null;
}

/** The parts of a leading exit. */
interface LeadingExit {
  /** Its place among those of the loop. */
  readonly place: number;
  /** True where a captured array decides. */
  readonly isDecided: boolean;
  /** `not test`. */
  readonly isPassed: () => unknown;
  /** `left && right()`. */
  readonly and: (left: unknown, right: () => unknown) => unknown;
  readonly leave: () => Completion;
  readonly goOn: () => Completion;
}

/** The end of the body from a leading exit on; null where it is a statement like others. */
export function leadingExit(exit: LeadingExit): { readonly completion: Completion } | null {
  const run = innermost;
  if (run === null) return null;
  const isHere = currentPath() === run.path;
  switch (run.treatment) {
    case 'seek':
      if (!exit.isDecided) return null;
      // Others behind it are not leading then.
      innermost = null;
      return isHere && run.watch!.isPure ? returning(true) : null;
    case 'ask': {
      if (!isHere) throw new NotLeading();
      const isPassed = exit.isPassed();
      if (exit.place === run.count - 1) return returning(isPassed);
      const goesOn = exit.and(isPassed, () => {
        run.path = currentPath();
        const answer = answerOf(exit.goOn());
        if (answer === null) throw new NotLeading();
        return answer.goesOn;
      });
      return returning(goesOn);
    }
    case 'pass':
      if (!isHere) throw new NotLeading();
      forgetChecks(run);
      return { completion: exit.goOn() };
    case 'leave':
      if (!isHere) throw new NotLeading();
      forgetChecks(run);
      return { completion: exit.leave() };
  }
}

function returning(goesOn: unknown): { readonly completion: Completion } {
  return { completion: { kind: 'return', value: new Answer(goesOn) } };
}

/** Calls before the exit may refuse elements where the test is asked; here they are the same ones again. */
function forgetChecks({ checked }: BodyRun): void {
  mode.capture?.calls.checked.splice(checked);
}
