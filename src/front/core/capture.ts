import { isStatic } from '../../base/dim/index.js';
import { determinedSymbols } from '../../ir/bind.js';
import type { TensorType } from '../../ir/types.js';
import { type GradientEffects, CapturedGradients } from '../capture/gradients.js';
import { CapturedSizes } from '../capture/sizes.js';
import { CapturedState } from '../capture/state.js';
import { CallLog } from './call-log.js';
import { type HostNumber, hostNumberType, numberArray } from './host-number.js';
import { mode, withMode } from './mode.js';
import { NDArray } from './ndarray.js';
import { describeValue } from './same-value.js';
import type { StaticCode } from './static-code.js';

/**
 * Behavior of reads in a captured run: `deferred` computes the value, which then is a constant of the user's;
 * `trace` refuses, because the captured code is replayed with other values.
 */
export type CaptureKind = 'deferred' | 'trace';

/** Effects of captured code besides its results. */
export interface Effects extends GradientEffects<NDArray> {
  /** New values of state, by the array that holds it. */
  readonly updates: ReadonlyMap<NDArray, NDArray>;
}

/** Log of the fields of objects in traced code. */
export interface FieldLog {
  /** Records the fields of an object now; `name` is the prefix of their paths. */
  add(object: object, name: string): void;
  /** The fields whose values have changed since. */
  changes(): readonly { readonly path: string; readonly to: unknown }[];
}

/** One run of user code whose operator calls are recorded instead of run. */
export class Capture {
  readonly kind: CaptureKind;
  /** The enclosing capture, whose values may be used. */
  readonly parent: Capture | null;
  /** True for the body of an operator, which may run many times in one replay. */
  readonly isBody: boolean;

  readonly sizes: CapturedSizes<NDArray>;
  readonly state: CapturedState<NDArray>;
  readonly gradients: CapturedGradients<NDArray>;
  readonly calls: CallLog;

  /** Arrays that each replay supplies anew. */
  readonly placeholders: Set<NDArray> = new Set();
  /** Placeholders of numbers that the host supplies before each replay. */
  readonly hostReads: Map<NDArray, HostNumber> = new Map();

  /** Log of the fields of objects in traced code; null when there is none. */
  fields: FieldLog | null = null;
  /** Handler of side-effect code; null where none is allowed. */
  onStaticCode: ((code: StaticCode, args: readonly unknown[]) => unknown) | null = null;

  constructor(
    kind: CaptureKind,
    sizes: ReadonlyMap<string, number> = new Map(),
    parent: Capture | null = null,
    isBody: boolean = false,
  ) {
    this.kind = kind;
    this.parent = parent;
    this.isBody = isBody;
    this.sizes = new CapturedSizes(sizes, parent && parent.sizes, describeValue);
    this.state = new CapturedState(parent && parent.state);
    this.gradients = new CapturedGradients(parent && parent.gradients);
    this.calls = new CallLog(parent && parent.calls);
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
      for (const name of determinedSymbols([type])) this.sizes.given.add(name);
    }
    return array;
  }

  /** A placeholder for the gradient that each replay finds on an outer array. */
  gradientRead(array: NDArray): NDArray {
    const { reads } = this.gradients;
    let read = reads.get(array);
    if (read === undefined) reads.set(array, (read = this.placeholder(array.type)));
    return read;
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

  /** Returns the effects so far, and resets them. */
  takeEffects(): Effects {
    return { updates: this.state.take(), ...this.gradients.take() };
  }
}

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
  return trace === null ? fn() : trace.sizes.withoutNoting(fn);
}

/** A number of the host as a rank-0 float32 array: in a trace, an input whose value is read at each call. */
export function hostNumber(source: HostNumber): NDArray {
  return currentTrace()?.hostNumber(source) ?? numberArray(source);
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
