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
import { type Require, type Requirement, requireOrKeep } from '../../ir/requirement.js';
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
import { currentSerial, type Origin, type Session } from './history.js';
import { mode, withMode } from './mode.js';
import { arrayOf, type GradReq, NDArray } from './ndarray.js';
import { describeValue } from './same-value.js';
import type { StaticCode } from './static-code.js';

/**
 * Behavior of reads in a captured run: `deferred` computes the value, which then is a constant of the user's;
 * `trace` refuses, because the captured code is replayed with other values.
 */
export type CaptureKind = 'deferred' | 'trace';

/** Effects of captured code besides its results. */
export interface Effects {
  /** New values of state, by the array that holds it. */
  readonly updates: ReadonlyMap<NDArray, NDArray>;
  /** Gradients by the array that keeps them. */
  readonly gradients: ReadonlyMap<NDArray, NDArray>;
  /** Placeholders of earlier gradients, by the array that keeps them. */
  readonly gradientReads: ReadonlyMap<NDArray, NDArray>;
  /** Arrays with a newly attached gradient, and its mode. */
  readonly attached: ReadonlyMap<NDArray, GradReq>;
  /** Final marks of gradients, for users that use each gradient once. */
  readonly gradientMarks: ReadonlyMap<NDArray, GradientMark>;
}

/** Log of the fields of objects in traced code. */
export interface FieldLog {
  /** Records the fields of an object now; `name` is the prefix of their paths. */
  add(object: object, name: string): void;
  /** The fields whose values have changed since. */
  changes(): readonly { readonly path: string; readonly to: unknown }[];
}

/** Freshness of an outer array's gradient for a user before captured code ran. */
export interface NewGradient {
  readonly array: NDArray;
  readonly user: GradientUser;
  readonly isNew: boolean;
}

/** A number of the host that captured code depends on, such as a learning rate. */
export interface HostNumber {
  /** The name of its input. */
  readonly name: string;
  /** The number at the time of a call. */
  read(): number;
}

export const hostNumberType: ArrayType = arrayType('float32', []);

const noNames: ReadonlySet<string> = new Set();

/** One run of user code whose operator calls are recorded instead of run. */
export class Capture {
  readonly kind: CaptureKind;
  /** Placeholders of a trace: arrays that each replay supplies anew. */
  readonly placeholders: Set<NDArray> = new Set();
  /** Values of size symbols: those of a trace's inputs, and those found when lazy arrays were computed. */
  readonly sizes: Map<string, number>;
  /** State written in traced code: the array, and its value after each replay. */
  readonly updates: Map<NDArray, NDArray> = new Map();
  /** The state that each of those values, and earlier ones, belongs to. */
  readonly #updated: Map<NDArray, NDArray> = new Map();
  /** Values of state as read by captured calls, before it was written. */
  readonly stateReads: Map<NDArray, NDArray> = new Map();
  /** Gradients that traced code assigned to outer arrays. */
  readonly gradients: Map<NDArray, NDArray> = new Map();
  /** Outer arrays with a newly attached gradient. */
  readonly attached: Map<NDArray, GradReq> = new Map();
  /** Marks of the gradients of outer arrays so far. */
  readonly gradientMarks: Map<NDArray, GradientMark> = new Map();
  /** Users that have, or may have, used any gradient so far. */
  readonly #gradientUsers: Set<GradientUser> = new Set();
  /** Marks since the last `takeEffects`. */
  readonly #marksSince: Map<NDArray, GradientMark> = new Map();
  /** Freshness assumptions about gradients before the code. */
  readonly newGradients: Map<NDArray, NewGradient[]> = new Map();
  /**
   * Gradient modes of outer arrays when traced code first read or changed them: the code may depend on them,
   * even where it reads no elements.
   */
  readonly gradientsFound: Map<NDArray, string> = new Map();
  /** Log of the fields of objects in traced code; null when there is none. */
  fields: FieldLog | null = null;
  /** Paths of fields that side-effect code has changed. */
  readonly changedByCode: Set<string> = new Set();
  /** Placeholders of the gradients of outer arrays at the start. */
  readonly gradientReads: Map<NDArray, NDArray> = new Map();
  /** Placeholders of numbers that the host supplies before each replay. */
  readonly hostReads: Map<NDArray, HostNumber> = new Map();
  /**
   * Sizes of input dimensions that traced code has read as numbers, and so depends on, with the lines of
   * their first reads; shared with the enclosing capture.
   */
  readonly sizesRead: Map<string, string | undefined>;

  /** Names of sizes that must stay symbols. */
  declared: ReadonlySet<string>;
  /**
   * Names of sizes that traced code received as symbols: it may compare them with numbers, and branch on the
   * result.
   */
  readonly sizesHandedOut: Set<string>;
  /** Sizes received by the code, by key: equal sizes are one object. */
  readonly #handedOut: Map<string, Dim>;

  /** Data-dependent sizes by name, with an array whose shape reveals each. */
  readonly decided: Map<string, NDArray> = new Map();
  readonly sharedSizes: SharedSizes = new SharedSizes(describeValue);

  /** Symbolic sizes of the inputs of replays by name, with a placeholder whose shape reveals each. */
  readonly given: Map<string, NDArray> = new Map();

  /** Requirements of captured calls on sizes, dead calls included, with the serials of the calls. */
  readonly requirements: { readonly serial: number; readonly requirement: Requirement }[] = [];

  /** States conditions of captured calls. */
  readonly require: Require = requireOrKeep((requirement) => {
    const { source = currentSource() } = requirement;
    const serial = currentSerial();
    this.requirements.push({ serial, requirement: { ...requirement, source } });
  });

  /** Calls that may refuse their elements, dead calls included. */
  readonly checked: Origin[] = [];
  /** Arrays that captured calls have read: they take part in recordings of the replays. */
  readonly touched: Set<NDArray> = new Set();
  /** The recordings that captured calls took part in. */
  readonly sessions: Set<Session> = new Set();
  /** Every captured call in order, for captures that run while they are made; null for others. */
  log: Origin[] | null = null;
  /** Handler of side-effect code; null where none is allowed. */
  onStaticCode: ((code: StaticCode, args: readonly unknown[]) => unknown) | null = null;
  /** Changes whenever state is really written in the middle of a trace. */
  stretch: object = {};

  /** The enclosing capture, whose values may be used. */
  readonly parent: Capture | null;
  /** True for the body of an operator, which may run many times in one replay. */
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

  /** True for an array whose value exists only in a replay. */
  owns(array: NDArray): boolean {
    if (array.elements !== null) return false;
    if (this.kind === 'trace') {
      if (this.placeholders.has(array) || array.origin?.capture === this) return true;
    }
    return this.parent !== null && this.parent.owns(array);
  }

  /** A placeholder for an input of each replay. */
  placeholder(type: TensorType): NDArray {
    const array = new NDArray(type, null);
    this.placeholders.add(array);
    if (!type.shape.every(isStatic)) {
      for (const name of determinedSymbols([type])) this.given.set(name, array);
    }
    return array;
  }

  /** A placeholder that reveals a symbolic size, of this capture or an enclosing one. */
  givenFor(name: string): NDArray | undefined {
    return this.given.get(name) ?? this.parent?.givenFor(name);
  }

  /** An array that reveals a data-dependent size or one of the inputs, of this capture or an enclosing one. */
  carrierOf(name: string): NDArray | undefined {
    return this.decided.get(name) ?? this.given.get(name) ?? this.parent?.carrierOf(name);
  }

  /** Current value of an array at this point of the captured code: state may have been written. */
  current(array: NDArray): NDArray {
    return this.updates.get(array) ?? this.parent?.current(array) ?? array;
  }

  /** Records that `target` now has `value`, a dedicated array. */
  update(target: NDArray, value: NDArray): void {
    this.updates.set(target, value);
    this.#updated.set(value, target);
    // Gradients with respect to the new value are gradients of the state.
    value.gradient = target.gradient;
  }

  /** The state that an array is a value of; otherwise the array itself. The inverse of `current`. */
  ownerOf(array: NDArray): NDArray {
    return this.#updated.get(array) ?? this.parent?.ownerOf(array) ?? array;
  }

  /** A placeholder for the gradient that each replay finds on an outer array. */
  gradientRead(array: NDArray): NDArray {
    let read = this.gradientReads.get(array);
    if (read === undefined) {
      read = this.placeholder(array.type);
      this.gradientReads.set(array, read);
    }
    return read;
  }

  /** Records the next effect of the code on the gradient of an outer array. */
  markGradient(array: NDArray, mark: GradientMark): void {
    for (const marks of [this.gradientMarks, this.#marksSince]) {
      marks.set(array, inSequence(marks.get(array) ?? untouched, mark));
    }
    for (const user of usersOf(mark)) this.#gradientUsers.add(user);
  }

  /** True when a user may have used a gradient in this capture or an enclosing one. */
  mayHaveUsed(user: GradientUser): boolean {
    return this.#gradientUsers.has(user) || this.parent?.mayHaveUsed(user) === true;
  }

  /** Records an assumption about the freshness of a gradient for its user. */
  noteNew(array: NDArray, user: GradientUser, isNew: boolean): boolean {
    const known = this.newGradients.get(array) ?? [];
    if (!known.some((each) => each.user === user)) {
      this.newGradients.set(array, [...known, { array, user, isNew }]);
    }
    return isNew;
  }

  /** A placeholder for a number of the host. */
  hostNumber(source: HostNumber): NDArray {
    if (this.parent !== null) {
      return this.parent.kind === 'trace' ? this.parent.hostNumber(source) : numberArray(source);
    }
    for (const [known, of] of this.hostReads) if (of === source) return known;
    const array = this.placeholder(hostNumberType);
    this.hostReads.set(array, source);
    return array;
  }

  /** Records the gradient mode of an outer array, for enclosing captures as well. */
  noteGradient(array: NDArray): void {
    if (!this.gradientsFound.has(array)) {
      this.gradientsFound.set(array, array.gradient?.req ?? 'none');
    }
    this.parent?.noteGradient(array);
  }

  /** Returns the effects so far, and resets them. */
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
   * Value of a dimension in the current call, which specializes the trace to it. Undefined when the data
   * decides it.
   */
  readSize(dim: Dim): number | undefined {
    const size = this.sizeOf(dim);
    if (size === undefined) return undefined;
    for (const name of symbolsOf(dim)) {
      if (!this.sizesRead.has(name)) this.sizesRead.set(name, currentSource());
    }
    return size;
  }

  /** Hands a symbolic size to traced code, and records that. */
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

  /** Value of a dimension in the current call, without specializing the trace. */
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

/** True while operator calls are captured rather than run. */
export function isCapturing(): boolean {
  return mode.capture !== null;
}

/** The current trace, if any. */
export function currentTrace(): Capture | null {
  return mode.capture?.kind === 'trace' ? mode.capture : null;
}

/**
 * Runs `fn` in the middle of a trace without specializing it to the sizes that `fn` reads: for decisions of
 * the first call that hold for all calls.
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

/** A number of the host as a rank-0 float32 array: in a trace, an input whose value is read at each call. */
export function hostNumber(source: HostNumber): NDArray {
  return currentTrace()?.hostNumber(source) ?? numberArray(source);
}

/** The current number of a source. */
export function numberArray(source: HostNumber): NDArray {
  return arrayOf(hostNumberType, Float32Array.of(source.read()));
}

/**
 * Records the fields of an object that traced code works with, such as a block that it calls: the trace is
 * specialized to their values. A no-op elsewhere.
 */
export function noteFields(object: object, name: string = object.constructor.name): void {
  let { capture } = mode;
  while (capture !== null && capture.parent !== null) capture = capture.parent;
  capture?.fields?.add(object, name);
}

/** Runs `fn` eagerly and unrecorded even in the middle of a capture: for state that is created once. */
export function outsideCapture<R>(fn: () => R): R {
  return withMode({ capture: null, session: null }, 'outsideCapture', fn);
}
