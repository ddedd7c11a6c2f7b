import type { DType, HostArray } from '../../base/dtype.js';
import { DeviceError } from '../../base/errors.js';
import { add } from '../../ops/index.js';
import { type ArrayType, arrayType } from '../core/array-type.js';
import type { Capture } from '../core/capture.js';
import { mode } from '../core/mode.js';
import { detours, followsOthers, newArrays } from '../../runtime/execution/backends.js';
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

/** State that code has left, and the number of draws since. */
interface LeftState {
  readonly state: NDArray;
  count: number;
}

/** The draws of a capture, from the initial state of its graph. */
export interface CapturedDraws {
  readonly base: NDArray;
  /** Number of draws before `tail`. */
  count: number;
  /** The state left by an operator that draws by itself, a loop or a branch, and the number of draws since. */
  tail: LeftState | null;
}

/** The type of the state that random operators take: `[seed, counter]`. */
export const stateType: ArrayType = arrayType('int64', [2]);

let seed = BigInt(Math.floor(Math.random() * 2 ** 52));
let counter = 0n;
/** A lazy array of the state, while the number of draws of deferred loops is unknown. */
let unknown: LeftState | null = null;
/** State on a device that answers later; `seed` and `counter` are an earlier one meanwhile. */
let awaited: LeftState | null = null;
/** Number of the chain of awaited states, each of which follows from the one before. */
let chain = 0;
/** Settled when no state is awaited any more; null while none is. */
let question: Promise<void> | null = null;
/** State that draws start from instead, and their number; see `drawingFrom`. */
let given: LeftState | null = null;
const draws = new WeakMap<Capture, CapturedDraws>();
const drawsByBase = new WeakMap<NDArray, CapturedDraws>();

/**
 * The current state. Runs deferred loops when it depends on their draws.
 * @throws DeviceError while it has to be waited for: a loop on a device has drawn.
 */
export function generatorState(): GeneratorState {
  settle();
  if (awaited !== null) takeKnown(awaited);
  return { seed, counter };
}

/** Makes an awaited state the present one, if the device has answered. */
function takeKnown({ state: { storage }, count }: LeftState): void {
  let isKnown: boolean;
  try {
    isKnown = storage.isKnown;
  } catch {
    awaited = null;
    return;
  }
  if (isKnown) return adopt(storage.host, count);
  throw new DeviceError('how many random numbers a loop has drawn is not known yet', {
    op: 'random',
    expected: 'draws that follow on each other',
    actual: `a loop on the device ${storage.backend!.name}, which answers later`,
    advice:
      'await what the loop has computed: await loss.data(); or draw inside of the captured code',
  });
}

/**
 * Refuses draws that no code captures from a state that has to be waited for, unless new arrays live on the device
 * that has it, and it has the dtype: then they are drawn there.
 * @throws DeviceError
 */
export function refuseAwaited(dtype: DType): void {
  if (mode.capture !== null || awaited === null) return;
  const { backend } = awaited.state.storage;
  const { dtypes } = backend?.limits ?? {};
  const drawsThere = backend === newArrays.backend && dtypes?.has('int64') && dtypes.has(dtype);
  if (drawsThere !== true) generatorState();
}

export function setGeneratorState(state: GeneratorState): void {
  seed = BigInt.asIntN(64, state.seed);
  counter = BigInt.asIntN(64, state.counter);
  unknown = null;
  awaited = null;
  chain++;
  forgetDraws();
}

/** The generator at a moment, to go back to. */
export type GeneratorMoment = GeneratorState & { readonly awaited: LeftState | null };

/** The present moment. Runs deferred loops when it depends on their draws. */
export function generatorMoment(): GeneratorMoment {
  settle();
  return { seed, counter, awaited: awaited === null ? null : { ...awaited } };
}

export function returnTo(moment: GeneratorMoment): void {
  setGeneratorState(moment);
  awaited = moment.awaited;
}

/** Runs deferred loops on whose draws the state depends. */
function settle(): void {
  if (unknown === null) return;
  const { state, count } = unknown;
  unknown = null;
  takeOver(state, count);
}

function forgetDraws(): void {
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
  settle();
  if (awaited !== null) return advanced(awaited.state, awaited.count);
  const array = arrayOf(stateType, BigInt64Array.of(seed, counter));
  if (detours.devices) followsOthers(array.storage);
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
    moveOn(count);
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
  else if (mode.capture === null) moveOn(-count);
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
  moveOn(count);
}

function moveOn(count: number): void {
  const pending = unknown ?? awaited;
  if (pending === null) counter += BigInt(count);
  else pending.count += count;
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
  const { storage } = state;
  if (storage.isKnown) return adopt(storage.host, count);
  awaited = { state, count };
  // One question at a time: captured steps may leave one state after another.
  question ??= ask();
}

/** Asks a device for a state that it has left, and for the one after, until it is known. */
async function ask(): Promise<void> {
  while (awaited !== null) {
    const [asked, since]: [LeftState, number] = [awaited, chain];
    try {
      const elements = await asked.state.storage.read();
      if (isAwaited(asked)) adopt(elements, awaited!.count);
      else if (chain === since) leaveAt(elements, asked.count);
    } catch {
      // Whoever reads what else was to be computed is told why. Code that fails leaves the generator where it was.
      if (isAwaited(asked)) awaited = null;
    }
  }
  question = null;
}

/** True for a state that is still the last one, though more may have been drawn from it. */
function isAwaited({ state }: LeftState): boolean {
  return awaited?.state === state;
}

/** The state of this moment, which a device may still have to tell. It then rejects with what has failed there. */
export async function promisedState(): Promise<GeneratorState> {
  settle();
  if (awaited === null) return { seed, counter };
  const { state, count } = awaited;
  return stateAfter(await state.storage.read(), count);
}

/** Makes a state the present one. */
function adopt(elements: HostArray, count: number): void {
  leaveAt(elements, count);
  awaited = null;
  chain++;
}

/** Sets the last known state. */
function leaveAt(elements: HostArray, count: number): void {
  ({ seed, counter } = stateAfter(elements, count));
}

/** The state that an array has, after so many more draws. */
function stateAfter(elements: HostArray, count: number): GeneratorState {
  const [left, right] = elements as BigInt64Array;
  return { seed: left, counter: right + BigInt(count) };
}

/** The draws of a capture so far: their number, the state that others have left, and the number of draws since. */
export function drawsSoFar(capture: Capture): readonly unknown[] {
  const own = draws.get(capture);
  return [own?.count ?? 0, own?.tail?.state, own?.tail?.count];
}

/** Notes the draws of a trace so far. @returns A function that goes back to that. */
export function drawsMoment(capture: Capture): () => void {
  const copy = (tail: LeftState | null): LeftState | null => (tail === null ? null : { ...tail });
  const own = draws.get(capture);
  const [count, tail] = [own?.count ?? 0, copy(own?.tail ?? null)];
  return () => {
    const now = draws.get(capture);
    if (now !== undefined) Object.assign(now, { count, tail: copy(tail) });
  };
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
