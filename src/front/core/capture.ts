import { currentSource } from '../../base/errors.js';
import {
  type Bounds,
  type Dim,
  evaluateDim,
  isStatic,
  symbol,
  symbolsOf,
} from '../../base/dim/index.js';
import { determinedSymbols } from '../../ir/bind.js';
import type { Requirement } from '../../ir/requirement.js';
import { SharedSizes } from '../../ir/shared-sizes.js';
import type { TensorType } from '../../ir/types.js';
import { type ArrayType, arrayType } from './array-type.js';
import {
  type GradientMark,
  type GradientUser,
  inSequence,
  untouched,
  usersOf,
} from './gradient-use.js';
import type { Origin, Session } from './history.js';
import { mode, withMode } from './mode.js';
import { arrayOf, type GradReq, NDArray } from './ndarray.js';
import { describeValue } from './same-value.js';
import type { StaticCode } from './static-code.js';

/**
 * What a captured run of user code does with reading: `deferred` computes the value, which is then the
 * user's own constant; `trace` refuses, because the captured code is replayed with other values.
 */
export type CaptureKind = 'deferred' | 'trace';

/** What captured code does beside computing results. */
export interface Effects {
  /** State by the array that holds it, with its new value. */
  readonly updates: ReadonlyMap<NDArray, NDArray>;
  /** Gradients by the array that keeps them. */
  readonly gradients: ReadonlyMap<NDArray, NDArray>;
  /** The stand-ins for gradients that were there before, by the array that keeps them. */
  readonly gradientReads: ReadonlyMap<NDArray, NDArray>;
  /** Arrays that started to keep a gradient, and how. */
  readonly attached: ReadonlyMap<NDArray, GradReq>;
  /** What became of gradients, for those who use each once. */
  readonly gradientMarks: ReadonlyMap<NDArray, GradientMark>;
}

/** Keeps what objects hold while traced code works with them. */
export interface FieldLog {
  /** Notes the fields of an object now; `name` begins their paths. */
  add(object: object, name: string): void;
  /** The fields whose values are others now. */
  changes(): readonly { readonly path: string; readonly to: unknown }[];
}

/** Whether the gradient of an array from outside was new to a user before captured code ran. */
export interface NewGradient {
  readonly array: NDArray;
  readonly user: GradientUser;
  readonly isNew: boolean;
}

/** A number of the host's that captured code depends on, such as a learning rate. */
export interface HostNumber {
  /** The name of the input that it becomes. */
  readonly name: string;
  /** The number at the time of a call. */
  read(): number;
}

export const hostNumberType: ArrayType = arrayType('float32', []);

const noNames: ReadonlySet<string> = new Set();

/** One run of user code whose operator calls are remembered instead of run. */
export class Capture {
  readonly kind: CaptureKind;
  /** The placeholders of a trace: the arrays that each replay brings anew. */
  readonly placeholders: Set<NDArray> = new Set();
  /** Sizes of symbols: those of a trace's inputs, and those found when lazy arrays were computed. */
  readonly sizes: Map<string, number>;
  /** State written in traced code: the array, and what it will hold after each replay. */
  readonly updates: Map<NDArray, NDArray> = new Map();
  /** The state that each of those values, and earlier ones, belongs to. */
  readonly #updated: Map<NDArray, NDArray> = new Map();
  /** Values of state as recorded calls have read it, before it was written. */
  readonly stateReads: Map<NDArray, NDArray> = new Map();
  /** Gradients that traced code left on arrays from outside. */
  readonly gradients: Map<NDArray, NDArray> = new Map();
  /** Arrays from outside that started to keep a gradient. */
  readonly attached: Map<NDArray, GradReq> = new Map();
  /** What the code so far has done to gradients of arrays from outside. */
  readonly gradientMarks: Map<NDArray, GradientMark> = new Map();
  /** Who has used any gradient in the code so far, or may have. */
  readonly #gradientUsers: Set<GradientUser> = new Set();
  /** The marks since effects were taken. */
  readonly #marksSince: Map<NDArray, GradientMark> = new Map();
  /** Whether gradients were new to their users before the code: what it relies on. */
  readonly newGradients: Map<NDArray, NewGradient[]> = new Map();
  /**
   * How arrays from outside kept gradients when traced code asked or changed it first: what it does may
   * depend on that, also where it reads no elements of theirs.
   */
  readonly gradientsFound: Map<NDArray, string> = new Map();
  /** The fields of objects that traced code works with; null where nobody asks. */
  fields: FieldLog | null = null;
  /** Paths of those that side-effect code has changed. */
  readonly changedByCode: Set<string> = new Set();
  /** Stand-ins for the gradients that arrays from outside bring along. */
  readonly gradientReads: Map<NDArray, NDArray> = new Map();
  /** Stand-ins for numbers that the host is asked for before each replay. */
  readonly hostReads: Map<NDArray, HostNumber> = new Map();
  /**
   * Sizes of input dimensions that traced code has read as numbers, and so relies on, with the lines where
   * it did first; what is read inside of a body, the code around it relies on.
   */
  readonly sizesRead: Map<string, string | undefined>;

  /** Names of the sizes that must stay symbols. */
  declared: ReadonlySet<string>;
  /**
   * Names of the sizes that traced code was given as they are: it may compare them with numbers, and then does
   * something else for some of them.
   */
  readonly sizesHandedOut: Set<string>;
  /** Sizes as they are handed out, by key: code that compares two finds equal ones to be one. */
  readonly #handedOut: Map<string, Dim>;

  /** Sizes that only the data decides, by name, with an array whose shape tells each. */
  readonly decided: Map<string, NDArray> = new Map();
  readonly sharedSizes: SharedSizes = new SharedSizes(describeValue);

  /** Symbolic sizes of what each replay brings, by name, with a placeholder whose shape tells each. */
  readonly given: Map<string, NDArray> = new Map();

  /** What captured calls require of sizes, also those that nothing reads, with the serials of the calls. */
  readonly requirements: { readonly serial: number; readonly requirement: Requirement }[] = [];

  /** Calls that may refuse the elements they get, also those whose results nothing reads. */
  readonly checked: Origin[] = [];
  /** Arrays that recorded calls have read: they take part in recordings of the replays. */
  readonly touched: Set<NDArray> = new Set();
  /** The recordings that captured calls took part in. */
  readonly sessions: Set<Session> = new Set();
  /** Every captured call in order, for captures that run while they are made; null for the others. */
  log: Origin[] | null = null;
  /** What becomes of side-effect code that is reached; null where there may be none. */
  onStaticCode: ((code: StaticCode, args: readonly unknown[]) => unknown) | null = null;
  /** Changes whenever state is written for real in the middle of a trace. */
  stretch: object = {};

  /** The capture that this one goes on inside of: what it made is there to be used. */
  readonly parent: Capture | null;
  /** Whether it is of the body of an operator, which may run many times in one replay. */
  readonly isBody: boolean;

  constructor(
    kind: CaptureKind,
    sizes: ReadonlyMap<string, number> = new Map(),
    parent: Capture | null = null,
    isBody: boolean = false,
  ) {
    this.kind = kind;
    this.isBody = isBody;
    this.sizes = new Map(sizes);
    this.parent = parent;
    this.sizesRead = parent?.sizesRead ?? new Map();
    this.declared = parent?.declared ?? noNames;
    this.sizesHandedOut = parent?.sizesHandedOut ?? new Set();
    this.#handedOut = parent === null ? new Map<string, Dim>() : parent.#handedOut;
  }

  /** Whether an array stands for a value that only a replay has. */
  owns(array: NDArray): boolean {
    if (array.elements !== null) return false;
    if (this.kind === 'trace') {
      if (this.placeholders.has(array) || array.origin?.capture === this) return true;
    }
    return this.parent !== null && this.parent.owns(array);
  }

  /** An array that stands for what each replay brings. */
  placeholder(type: TensorType): NDArray {
    const array = new NDArray(type, null);
    this.placeholders.add(array);
    if (!type.shape.every(isStatic)) {
      for (const name of determinedSymbols([type])) this.given.set(name, array);
    }
    return array;
  }

  /** A placeholder that tells a symbolic size, of this code or the code around it. */
  givenFor(name: string): NDArray | undefined {
    return this.given.get(name) ?? this.parent?.givenFor(name);
  }

  /** An array that tells a size which the data decides or each replay brings, of this code or the code around it. */
  carrierOf(name: string): NDArray | undefined {
    return this.decided.get(name) ?? this.given.get(name) ?? this.parent?.carrierOf(name);
  }

  /** What an array stands for at this point of the captured code: state may have been written. */
  current(array: NDArray): NDArray {
    return this.updates.get(array) ?? this.parent?.current(array) ?? array;
  }

  /** Notes that from here on `target` holds `value`, an array that stands for nothing else. */
  update(target: NDArray, value: NDArray): void {
    this.updates.set(target, value);
    this.#updated.set(value, target);
    // Gradients with respect to the new value are gradients of the state that it is.
    value.gradient = target.gradient;
  }

  /** The state that an array is a value of; otherwise the array itself. The inverse of `current`. */
  ownerOf(array: NDArray): NDArray {
    return this.#updated.get(array) ?? this.parent?.ownerOf(array) ?? array;
  }

  /** A stand-in for the gradient that each replay finds on an array from outside. */
  gradientRead(array: NDArray): NDArray {
    let read = this.gradientReads.get(array);
    if (read === undefined) {
      read = this.placeholder(array.type);
      this.gradientReads.set(array, read);
    }
    return read;
  }

  /** Notes what the code does next to the gradient of an array from outside. */
  markGradient(array: NDArray, mark: GradientMark): void {
    for (const marks of [this.gradientMarks, this.#marksSince]) {
      marks.set(array, inSequence(marks.get(array) ?? untouched, mark));
    }
    for (const user of usersOf(mark)) this.#gradientUsers.add(user);
  }

  /** Whether someone may have used a gradient in this code or the code around it. */
  mayHaveUsed(user: GradientUser): boolean {
    return this.#gradientUsers.has(user) || this.parent?.mayHaveUsed(user) === true;
  }

  /** Notes that the code relies on a gradient being new to its user, or not. */
  noteNew(array: NDArray, user: GradientUser, isNew: boolean): boolean {
    const known = this.newGradients.get(array) ?? [];
    if (!known.some((each) => each.user === user)) {
      this.newGradients.set(array, [...known, { array, user, isNew }]);
    }
    return isNew;
  }

  /** An array that stands for a number of the host's. */
  hostNumber(source: HostNumber): NDArray {
    if (this.parent !== null) {
      return this.parent.kind === 'trace' ? this.parent.hostNumber(source) : numberArray(source);
    }
    for (const [known, of] of this.hostReads) if (of === source) return known;
    const array = this.placeholder(hostNumberType);
    this.hostReads.set(array, source);
    return array;
  }

  /** Notes how an array from outside keeps a gradient, for the code around as well. */
  noteGradient(array: NDArray): void {
    if (!this.gradientsFound.has(array)) {
      this.gradientsFound.set(array, array.gradient?.req ?? 'none');
    }
    this.parent?.noteGradient(array);
  }

  /** Hands over the effects so far, and starts anew with none. */
  takeEffects(): Effects {
    const effects = {
      updates: new Map(this.updates),
      gradients: new Map(this.gradients),
      gradientReads: new Map(this.gradientReads),
      attached: new Map(this.attached),
      gradientMarks: new Map(this.#marksSince),
    };
    for (const map of [
      this.updates,
      this.gradients,
      this.#marksSince,
      this.gradientReads,
      this.stateReads,
      this.attached,
    ]) {
      map.clear();
    }
    this.stretch = {};
    return effects;
  }

  /**
   * The number that a dimension is in the call at hand, which the trace then holds for only. Undefined
   * when the data decides it.
   */
  readSize(dim: Dim): number | undefined {
    const size = this.sizeOf(dim);
    if (size === undefined) return undefined;
    for (const name of symbolsOf(dim)) {
      if (!this.sizesRead.has(name)) this.sizesRead.set(name, currentSource());
    }
    return size;
  }

  /** A size as traced code is given it, which is noted. */
  handOut(size: Dim): Dim {
    if (isStatic(size)) return size;
    symbolsOf(size, this.sizesHandedOut);
    return this.asHandedOut(size);
  }

  /** The one object for equal sizes. */
  asHandedOut(size: Dim): Dim {
    const known = this.#handedOut.get(String(size));
    if (known === undefined) this.#handedOut.set(String(size), size);
    return known ?? size;
  }

  /** The number that a dimension is in the call at hand, for those who do not rely on it. */
  sizeOf(dim: Dim): number | undefined {
    for (const name of symbolsOf(dim)) if (!this.sizes.has(name)) return undefined;
    return evaluateDim(dim, this.sizes);
  }

  /** A symbol that no other capture uses either: arrays of several captures may meet in one graph. */
  freshDim(hint: string, bounds?: Partial<Bounds>): Dim {
    return symbol(`${hint.replace(/_\d+$/, '')}_${nextFresh++}`, bounds);
  }
}

let nextFresh = 0;

/** Whether operator calls are being captured rather than run. */
export function isCapturing(): boolean {
  return mode.capture !== null;
}

/** The trace that is going on, if any. */
export function currentTrace(): Capture | null {
  return mode.capture?.kind === 'trace' ? mode.capture : null;
}

/**
 * Runs `fn` in the middle of a trace without the sizes that it reads becoming the trace's: for what is
 * decided once, by the first call, and holds for all calls.
 */
export function withoutNotingSizes<R>(fn: () => R): R {
  const trace = currentTrace();
  if (trace === null) return fn();
  const { declared } = trace;
  const before = new Set(trace.sizesRead.keys());
  trace.declared = noNames;
  try {
    return fn();
  } finally {
    trace.declared = declared;
    for (const name of trace.sizesRead.keys()) if (!before.has(name)) trace.sizesRead.delete(name);
  }
}

/** A number of the host's as a rank-0 float32 array: in a trace, an input whose value each call asks for anew. */
export function hostNumber(source: HostNumber): NDArray {
  return currentTrace()?.hostNumber(source) ?? numberArray(source);
}

/** The number that a source has now. */
export function numberArray(source: HostNumber): NDArray {
  return arrayOf(hostNumberType, Float32Array.of(source.read()));
}

/**
 * Notes the fields of an object that traced code works with, such as a block that it calls: from then on
 * the trace is good for their values only. Nothing happens elsewhere.
 */
export function noteFields(object: object, name: string = object.constructor.name): void {
  let { capture } = mode;
  while (capture !== null && capture.parent !== null) capture = capture.parent;
  capture?.fields?.add(object, name);
}

/** Runs `fn` eagerly and unrecorded even in the middle of a capture: for state that is made once. */
export function outsideCapture<R>(fn: () => R): R {
  return withMode({ capture: null, session: null }, 'outsideCapture', fn);
}
