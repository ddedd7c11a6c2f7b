import { add } from '../../ops/index.js';
import { type ArrayType, arrayType } from '../core/array-type.js';
import type { Capture } from '../core/capture.js';
import { mode } from '../core/mode.js';
import { followsOthers, otherBackends } from '../../runtime/execution/backends.js';
import { arrayOf, type NDArray } from '../core/ndarray.js';

/*
 * Where random numbers come from: a seed, and the number of draws so far. Each draw is a pure function of
 * that state. Captured code takes the state as an input of its graph and counts its draws, so a replay
 * draws fresh numbers, and equal seeds give equal numbers whether code is captured or not.
 */

/** State of the generator: `counter` draws were made since `seed` was set. */
export interface GeneratorState {
  readonly seed: bigint;
  readonly counter: bigint;
}

/** The draws of a capture, from the initial state of its graph. */
export interface CapturedDraws {
  readonly base: NDArray;
  /** Number of draws before `tail`. */
  count: number;
  /** The state left by an operator that draws by itself, a loop or a branch, and the number of draws since. */
  tail: { readonly state: NDArray; count: number } | null;
}

/** The type of the state that random operators take: `[seed, counter]`. */
export const stateType: ArrayType = arrayType('int64', [2]);

let seed = BigInt(Math.floor(Math.random() * 2 ** 52));
let counter = 0n;
/** A lazy array of the state, while the number of draws of deferred loops is unknown. */
let unknown: { readonly state: NDArray; count: number } | null = null;
/** State that draws start from instead, and their number; see `drawingFrom`. */
let given: { readonly state: NDArray; count: number } | null = null;
const draws = new WeakMap<Capture, CapturedDraws>();
const drawsByBase = new WeakMap<NDArray, CapturedDraws>();

/** The current state. Runs deferred loops when it depends on their draws. */
export function generatorState(): GeneratorState {
  if (unknown !== null) {
    const { state, count } = unknown;
    unknown = null;
    takeOver(state, count);
  }
  return { seed, counter };
}

export function setGeneratorState(state: GeneratorState): void {
  seed = BigInt.asIntN(64, state.seed);
  counter = BigInt.asIntN(64, state.counter);
  unknown = null;
  // Later captures start from the new state.
  if (mode.capture !== null) draws.delete(mode.capture);
}

/** Runs code whose draws start from a state, known or not. The generator stays where it is. */
export function drawingFrom<R>(state: NDArray, draw: () => R): R {
  const before = given;
  given = { state, count: 0 };
  try {
    return draw();
  } finally {
    given = before;
  }
}

/** The state as an array. */
function stateArray(): NDArray {
  const state = generatorState();
  const array = arrayOf(stateType, BigInt64Array.of(state.seed, state.counter));
  if (otherBackends.exist) followsOthers(array.storage);
  return array;
}

/** The state for some draws, one by default. The next draw gets another. */
export function takeState(count: number = 1): NDArray {
  if (given !== null) {
    const state = advanced(given.state, given.count);
    given.count += count;
    return state;
  }
  const { capture } = mode;
  if (capture === null) {
    const state = stateArray();
    counter += BigInt(count);
    return state;
  }
  const own = drawsOf(capture);
  const since = own.tail ?? { state: own.base, count: own.count };
  const state = advanced(since.state, since.count);
  note(own, capture, count);
  return state;
}

/** Takes back draws that were refused. */
export function untakeState(count: number = 1): void {
  if (given !== null) given.count -= count;
  else if (mode.capture === null) counter -= BigInt(count);
  else note(drawsOf(mode.capture), mode.capture, -count);
}

function drawsOf(capture: Capture): CapturedDraws {
  let own = draws.get(capture);
  if (own === undefined) {
    const base = capture.kind === 'trace' ? capture.placeholder(stateType) : stateArray();
    own = { base, count: 0, tail: null };
    draws.set(capture, own);
    drawsByBase.set(base, own);
  }
  return own;
}

function note(own: CapturedDraws, capture: Capture, count: number): void {
  if (own.tail === null) own.count += count;
  else own.tail.count += count;
  // A trace draws nothing: its replays do.
  if (capture.kind === 'trace') return;
  if (unknown === null) counter += BigInt(count);
  else unknown.count += count;
}

/** Continues from a state that an operator or a graph has left. */
export function continueFrom(state: NDArray): void {
  if (given !== null) {
    given = { state, count: 0 };
    return;
  }
  const { capture } = mode;
  if (capture === null) return takeOver(state, 0);
  drawsOf(capture).tail = { state, count: 0 };
  if (capture.kind === 'deferred') unknown = { state, count: 0 };
}

function takeOver(state: NDArray, count: number): void {
  const [left, right] = state.storage.host as BigInt64Array;
  seed = left;
  counter = right + BigInt(count);
}

/** The number of draws of a capture so far; null once it has gone on from a state that others have left. */
export function drawsSoFar(capture: Capture): number | null {
  const own = draws.get(capture);
  if (own === undefined) return 0;
  return own.tail === null ? own.count : null;
}

/** Ends the draws of a capture so far: the next ones start from a state of their own. */
export function endDraws(capture: Capture): CapturedDraws | undefined {
  const own = draws.get(capture);
  draws.delete(capture);
  return own;
}

/** The state after so many draws. */
function advanced(base: NDArray, count: number): NDArray {
  return count === 0 ? base : add(base, BigInt64Array.of(0n, BigInt(count)));
}

/** The draws that captured code made from a state; undefined for other arrays. */
export function drawsFrom(base: NDArray): CapturedDraws | undefined {
  return drawsByBase.get(base);
}
