import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import { checkOptions, flag, type OptionRules, valueRule } from '../../base/attributes/options.js';
import { zerosLike } from '../../ops/index.js';
import { Session } from '../core/history.js';
import { mode, withMode } from '../core/mode.js';
import { NDArray } from '../core/ndarray.js';
import type { FloatDType } from '../core/result-dtypes.js';
import { linkTo } from '../dispatch/values.js';
import { checkedHeadGrad } from './backward.js';
import {
  gradientsOf,
  layOutRecording,
  release,
  scratchFor,
  sessionsOf,
  type Tape,
} from './tape.js';

/** Options of `grad`. */
export interface GradOptions {
  /** The initial gradients of `ys`. Default: ones. */
  readonly headGrads?: NDArray | readonly (NDArray | null)[] | null;
  /** Record the pass itself, so that its results can be differentiated again. Default false. */
  readonly createGraph?: boolean;
  /** Keep the values of the recording for another pass. Default: the value of `createGraph`. */
  readonly retainGraph?: boolean;
}

/** Any value: head gradients have errors of their own. */
const headGrads = valueRule(
  'arrays, or null',
  (value): value is GradOptions['headGrads'] => value !== undefined,
);

const rules: OptionRules<GradOptions> = { headGrads, createGraph: flag, retainGraph: flag };

/**
 * The gradients of the sum of `ys` with respect to `xs`, one for each, zeros where `ys` do not depend on it.
 * Attached gradients do not change. A bare array as argument gives a bare result.
 */
export function grad(
  ys: NDArray | readonly NDArray[],
  xs: NDArray,
  options?: GradOptions,
): NDArray<FloatDType>;
export function grad(
  ys: NDArray | readonly NDArray[],
  xs: readonly NDArray[],
  options?: GradOptions,
): NDArray<FloatDType>[];
export function grad(
  ys: NDArray | readonly NDArray[],
  xs: NDArray | readonly NDArray[],
  options: GradOptions = {},
): NDArray | NDArray[] {
  const op = 'autograd.grad';
  checkOptions(op, options, rules);
  const heads = listOf(ys);
  for (const x of listOf(xs)) {
    if (x instanceof NDArray) continue;
    throw new ArgumentError('a gradient was asked with respect to something that is not an array', {
      op,
      expected: 'arrays; of a parameter its value',
      actual: describe(x),
    });
  }
  // State that captured code has written is represented by its new value.
  const wrt = listOf(xs).map((x) => mode.capture?.state.current(x) ?? x);
  const { createGraph = false, retainGraph = createGraph } = options;
  const given = listOf(options.headGrads ?? []);
  if (given.length > 0 && given.length !== heads.length) {
    throw new ArgumentError('there must be one head gradient for each y', {
      op,
      expected: String(heads.length),
      actual: String(given.length),
    });
  }
  if (heads.length === 0)
    throw new ArgumentError('there is nothing to differentiate', {
      op,
      expected: 'at least one y',
      actual: 'none',
    });
  const tape = layOutRecording(op, heads);
  const sessions = sessionsOf(tape.origins);
  for (const x of wrt) {
    if (tape.valueOf.has(x) || tookPart(x, sessions)) continue;
    throw new ArgumentError('an array took no part in what was recorded', {
      op,
      expected: 'arrays that recorded calls read or made',
      actual: `array ${wrt.indexOf(x)} of shape [${x.shape.join(', ')}]`,
      advice: 'use the array itself inside autograd.record, not a copy or another view of it',
    });
  }
  const found = pass(op, tape, heads, given, wrt, createGraph, retainGraph);
  return Array.isArray(xs) ? found : found[0];
}

/**
 * The gradients of a value with respect to arrays made since some call, zeros where it does not depend on them. What
 * was made before is constant: its history is not visited, so that it may be long, or used up.
 */
export function gradSince(
  op: string,
  since: number,
  value: NDArray,
  xs: readonly NDArray[],
  createGraph: boolean,
): readonly NDArray[] {
  const isBefore = ({ origin }: NDArray): boolean => origin === null || origin.serial < since;
  if (isBefore(value) || !isRecorded(value)) return xs.map((x) => zerosLike(x));
  const tape = layOutRecording(op, [value], isBefore);
  return pass(op, tape, [value], [], xs, createGraph, createGraph);
}

/** A backward pass: the gradients of the sum of `heads` with respect to `wrt`, each an array of its own. */
function pass(
  op: string,
  tape: Tape,
  heads: readonly NDArray[],
  given: readonly (NDArray | null)[],
  wrt: readonly NDArray[],
  createGraph: boolean,
  retainGraph: boolean,
): NDArray[] {
  const known = wrt.filter((x) => tape.valueOf.has(x));
  const scratch = createGraph ? null : scratchFor(tape);
  // Outside of a recording the pass goes on with that of `ys`, where what it reads has taken part.
  const goesOn = retainGraph ? [...sessionsOf(tape.origins)].find(({ isOpen }) => isOpen) : undefined; // prettier-ignore
  const session = createGraph ? (mode.session ?? goesOn ?? new Session()) : null;
  const found = gradientsOf(
    op,
    tape,
    heads.map((array, i) => ({
      array,
      grad: withMode({ session: null }, op, () => checkedHeadGrad(op, array, given[i])),
    })),
    known,
    session,
    scratch,
  );
  const flowing = new Map(known.map((x, i) => [x, found[i]]));
  const recorded = <R>(fn: () => R): R =>
    withMode({ session, isPaused: session === null || mode.isPaused }, op, fn);
  const result = wrt.map((x) => flowing.get(x) ?? recorded(() => zerosLike(x)));
  if (!retainGraph) release(tape);
  scratch?.release(result);
  // Each is an object of its own, and none a head gradient: they can be assigned to, and differentiated apart. With
  // `createGraph` each is recorded, even if it is a constant, so that it has gradients in turn.
  const taken = new Set<NDArray | null>(given);
  const own = recorded(() =>
    result.map((each) => {
      const isOwn = !taken.has(each) && (session === null || isRecorded(each));
      const one = isOwn ? each : linkTo(each);
      taken.add(one);
      return one;
    }),
  );
  return own;
}

function isRecorded({ origin }: NDArray): boolean {
  return origin !== null && origin.session !== null;
}

function tookPart(x: NDArray, sessions: ReadonlySet<unknown>): boolean {
  return sessions.has(x.session) || sessions.has(x.origin?.session);
}

function listOf<T extends NDArray | null>(arrays: T | readonly T[]): readonly T[] {
  return Array.isArray(arrays) ? (arrays as readonly T[]) : [arrays as T];
}
