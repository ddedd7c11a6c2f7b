import { type Enclosed, innermost, outward } from './chain.js';
import {
  type GradientMark,
  type GradientUser,
  type GradReq,
  inSequence,
  untouched,
  usersOf,
} from './gradient-use.js';

/** Freshness of an outer array's gradient for a user before captured code ran. */
export interface NewGradient<A extends object> {
  readonly array: A;
  readonly user: GradientUser;
  readonly isNew: boolean;
}

/** Effects of captured code on the gradients of outer arrays, by array. */
export interface GradientEffects<A extends object> {
  /** New gradients. */
  readonly gradients: ReadonlyMap<A, A>;
  /** Placeholders of earlier gradients. */
  readonly gradientReads: ReadonlyMap<A, A>;
  /** Modes of newly attached gradients. */
  readonly attached: ReadonlyMap<A, GradReq>;
  /** Final marks, for users that use each gradient once. */
  readonly gradientMarks: ReadonlyMap<A, GradientMark>;
}

/** Gradients of outer arrays that captured code reads and writes. */
export class CapturedGradients<A extends object> implements Enclosed<CapturedGradients<A>> {
  readonly parent: CapturedGradients<A> | null;
  /** Gradients that the code assigned. */
  readonly assigned: Map<A, A> = new Map();
  /** Placeholders of the gradients that each replay finds. */
  readonly reads: Map<A, A> = new Map();
  /** Modes of newly attached gradients. */
  readonly attached: Map<A, GradReq> = new Map();
  /** Marks so far. */
  readonly marks: Map<A, GradientMark> = new Map();
  /** Assumptions about freshness before the code. */
  readonly #assumptions: Map<A, NewGradient<A>[]> = new Map();
  /**
   * Modes when the code first read or changed gradients: it may depend on them, even where it reads no
   * elements.
   */
  readonly modes: Map<A, string> = new Map();
  /** Functions that undo the effects that tracing itself had on outer arrays. */
  readonly #undone: (() => void)[] = [];
  /** Users that have, or may have, used any gradient so far. */
  readonly #users: Set<GradientUser> = new Set();
  /** Marks since the last `take`. */
  readonly #marksSince: Map<A, GradientMark> = new Map();

  constructor(parent: CapturedGradients<A> | null) {
    this.parent = parent;
  }

  /** Records the next effect of the code on a gradient. */
  mark(array: A, mark: GradientMark): void {
    for (const marks of [this.marks, this.#marksSince]) {
      marks.set(array, inSequence(marks.get(array) ?? untouched, mark));
    }
    for (const user of usersOf(mark)) this.#users.add(user);
  }

  /** True when a user may have used a gradient in this capture or an enclosing one. */
  mayHaveUsed(user: GradientUser): boolean {
    const used = (part: CapturedGradients<A>): true | undefined =>
      part.#users.has(user) || undefined;
    return innermost<CapturedGradients<A>, true>(this, used) === true;
  }

  /** Records an assumption about the freshness of a gradient for its user; the first one holds. */
  assume(array: A, user: GradientUser, isNew: boolean): void {
    const known = this.#assumptions.get(array) ?? [];
    if (known.some((each) => each.user === user)) return;
    this.#assumptions.set(array, [...known, { array, user, isNew }]);
  }

  /** All assumptions about freshness. */
  get assumptions(): readonly NewGradient<A>[] {
    return [...this.#assumptions.values()].flat();
  }

  /** Records the gradient mode of an array, for enclosing captures as well; the first one holds. */
  noteMode(array: A, req: string): void {
    outward<CapturedGradients<A>>(this, ({ modes }) => {
      if (!modes.has(array)) modes.set(array, req);
    });
  }

  /** Registers what is to be undone when the outermost capture ends. */
  atEnd(undo: () => void): void {
    if (this.parent === null) this.#undone.push(undo);
    else this.parent.atEnd(undo);
  }

  /** Undoes what has been registered, the last first. */
  end(): void {
    for (const undo of this.#undone.splice(0).reverse()) undo();
  }

  /** Returns the effects so far, and resets them. */
  take(): GradientEffects<A> {
    const effects = {
      gradients: new Map(this.assigned),
      gradientReads: new Map(this.reads),
      attached: new Map(this.attached),
      gradientMarks: new Map(this.#marksSince),
    };
    for (const map of [this.assigned, this.reads, this.attached, this.#marksSince]) map.clear();
    return effects;
  }
}
