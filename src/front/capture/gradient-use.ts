import { UnsupportedError } from '../../base/errors.js';

/*
 * Freshness of gradients, for users that use each gradient once. The gradient that an array keeps has the
 * serial number of the pass that wrote it; a user remembers the number that it used last. Captured code knows
 * its own effects, and guards the freshness that it found.
 */

/**
 * Use of an array's gradient by a backward pass: it is replaced, added to, or left alone. An array with `null`
 * is state (running statistics, a frozen weight): recorded code may assign to it.
 */
export type GradReq = 'write' | 'add' | 'null';

/** A user that uses each gradient once, such as an optimizer. */
export class GradientUser {
  /** For messages. */
  readonly op: string;
  readonly #used: WeakMap<object, number> = new WeakMap();
  #hasUsed = false;

  constructor(op: string) {
    this.op = op;
  }

  /** True when it has used any gradient so far. */
  get hasUsed(): boolean {
    return this.#hasUsed;
  }

  /** Serial number of the last gradient of an array that it used; 0 for none. */
  lastUsed(array: object): number {
    return this.#used.get(array) ?? 0;
  }

  noteUse(array: object, serial: number): void {
    this.#hasUsed = true;
    this.#used.set(array, serial);
  }
}

/** Effect of code on the gradient of an array. */
export type GradientMark =
  | {
      /** `found`: the previous gradient stays, `written`: a pass wrote it, `reset`: it is zeros again. */
      readonly kind: 'found' | 'written' | 'reset';
      /** Users that have used it since. */
      readonly users: ReadonlySet<GradientUser>;
    }
  | {
      /** Only the data decides between the two. */
      readonly kind: 'either';
      readonly marks: readonly [GradientMark, GradientMark];
    };

const nobody: ReadonlySet<GradientUser> = new Set();

/** No effect on the gradient. */
export const untouched: GradientMark = { kind: 'found', users: nobody };
/** A pass writes the gradient. */
export const written: GradientMark = { kind: 'written', users: nobody };
/** The gradient is attached again. */
export const reset: GradientMark = { kind: 'reset', users: nobody };

/** A use of the current gradient. */
export function usedBy(user: GradientUser): GradientMark {
  return { kind: 'found', users: new Set([user]) };
}

/** Users that have used the gradient, or may have. */
export function usersOf(mark: GradientMark): readonly GradientUser[] {
  return mark.kind === 'either' ? mark.marks.flatMap(usersOf) : [...mark.users];
}

/** Effect of two parts of code in sequence. */
export function inSequence(first: GradientMark, then: GradientMark): GradientMark {
  if (then.kind === 'either') {
    const [a, b] = then.marks;
    return inAlternatives(inSequence(first, a), inSequence(first, b));
  }
  if (then.kind !== 'found') return then;
  if (then.users.size === 0) return first;
  if (first.kind === 'either') {
    const [a, b] = first.marks;
    return inAlternatives(inSequence(a, then), inSequence(b, then));
  }
  return { kind: first.kind, users: new Set([...first.users, ...then.users]) };
}

/** Effect of two alternatives between which the data decides. */
export function inAlternatives(a: GradientMark, b: GradientMark): GradientMark {
  return sameMark(a, b) ? a : { kind: 'either', marks: [a, b] };
}

function sameMark(a: GradientMark, b: GradientMark): boolean {
  if (a === b) return true;
  if (a.kind === 'either' || b.kind === 'either') return false;
  return (
    a.kind === b.kind &&
    a.users.size === b.users.size &&
    [...a.users].every((user) => b.users.has(user))
  );
}

/**
 * True when the gradient is new to a user after code with this mark.
 *
 * @param before Freshness before the code.
 * @throws UnsupportedError where only the data decides it.
 */
export function isNewAfter(mark: GradientMark, user: GradientUser, before: () => boolean): boolean {
  switch (mark.kind) {
    case 'found':
      return !mark.users.has(user) && before();
    case 'written':
      return !mark.users.has(user);
    case 'reset':
      return false;
    case 'either': {
      const [a, b] = mark.marks.map((each) => isNewAfter(each, user, before));
      if (a !== b) throw undecided(user);
      return a;
    }
  }
}

/** The error for code that depends on whether a loop or branch ran. */
export function undecided(user: GradientUser): UnsupportedError {
  return new UnsupportedError('whether a gradient is new depends on which captured code ran', {
    op: user.op,
    expected: 'a backward pass that certainly ran since the last step, or certainly did not',
    actual: 'one in a branch, or in a loop that may have no iterations',
    advice: 'take the step in the branch or the loop that holds the backward pass',
  });
}
