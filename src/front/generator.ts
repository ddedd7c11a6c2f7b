import { add } from '../ops/index.js';
import { type ArrayType, arrayType } from './arraytype.js';
import type { Capture } from './capture.js';
import { mode } from './mode.js';
import { arrayOf, type NDArray } from './ndarray.js';

/*
 * Where random numbers come from: a seed, and the number of draws so far. Each draw is a pure function of
 * that state. Captured code takes the state as an input of its graph and counts its draws, so a replay
 * draws fresh numbers, and equal seeds give equal numbers whether code is captured or not.
 */

/** The state of the generator: `counter` draws were made since `seed` was set. */
export interface GeneratorState {
  readonly seed: bigint;
  readonly counter: bigint;
}

/** The draws of a capture from the state that its graph starts with. */
export interface CapturedDraws {
  readonly base: NDArray;
  count: number;
}

/** The type of the state that random operators take: `[seed, counter]`. */
export const stateType: ArrayType = arrayType('int64', [2]);

let seed = BigInt(Math.floor(Math.random() * 2 ** 52));
let counter = 0n;
const draws = new WeakMap<Capture, CapturedDraws>();
const drawsByBase = new WeakMap<NDArray, CapturedDraws>();

export function generatorState(): GeneratorState {
  return { seed, counter };
}

export function setGeneratorState(state: GeneratorState): void {
  seed = BigInt.asIntN(64, state.seed);
  counter = BigInt.asIntN(64, state.counter);
  // What is captured from here on starts from the new state.
  if (mode.capture !== null) draws.delete(mode.capture);
}

/** The state as an array. */
export function stateArray(): NDArray {
  return arrayOf(stateType, BigInt64Array.of(seed, counter));
}

/** The state for some draws, one unless said. The next draw gets another. */
export function takeState(count: number = 1): NDArray {
  const { capture } = mode;
  if (capture === null) {
    const state = stateArray();
    counter += BigInt(count);
    return state;
  }
  let own = draws.get(capture);
  if (own === undefined) {
    const base = capture.kind === 'trace' ? capture.placeholder(stateType) : stateArray();
    own = { base, count: 0 };
    draws.set(capture, own);
    drawsByBase.set(base, own);
  }
  // A trace is only a rehearsal: it is the replays that draw.
  if (capture.kind === 'deferred') counter += BigInt(count);
  const state = advanced(own.base, own.count);
  own.count += count;
  return state;
}

/** Ends the draws of a capture so far: the next ones start from a state of their own. */
export function endDraws(capture: Capture): CapturedDraws | undefined {
  const own = draws.get(capture);
  draws.delete(capture);
  return own;
}

/** The state after so many draws. */
export function advanced(base: NDArray, count: number): NDArray {
  return count === 0 ? base : add(base, BigInt64Array.of(0n, BigInt(count)));
}

/** How many draws captured code made from a state; undefined for any other array. */
export function drawsFrom(base: NDArray): number | undefined {
  return drawsByBase.get(base)?.count;
}
