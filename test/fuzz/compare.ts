import { type DType, type HostArray, isFloat } from '../../src/base/dtype.js';
import { readElement } from '../../src/base/element.js';
import { KaonError } from '../../src/base/errors.js';
import type { NDArray } from '../../src/index.js';
import { roundingOf } from './facts.js';

/** What an array held at a moment. */
export interface Snapshot {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: HostArray;
}

export function snapshot(array: NDArray): Snapshot {
  return { dtype: array.dtype, shape: [...array.shape], data: array.storage.host.slice() };
}

/** The same where elements are read by promises. */
export async function snapshotLater(array: NDArray): Promise<Snapshot> {
  return snapshot(await array.cpu());
}

/** What a run gave: arrays, or a refusal by its class and code. */
export type Outcome =
  | { readonly kind: 'arrays'; readonly arrays: readonly Snapshot[] }
  | { readonly kind: 'error'; readonly name: string; readonly message: string };

/** Runs, and turns a refusal into an outcome. What nobody throws on purpose goes on. */
export function outcomeOf(run: () => readonly NDArray[]): Outcome {
  try {
    return { kind: 'arrays', arrays: run().map(snapshot) };
  } catch (error) {
    return outcomeOfError(error);
  }
}

/** A refusal as an outcome; throws everything else. */
export function outcomeOfError(error: unknown): Outcome {
  if (!(error instanceof KaonError) || error.code === 'KAON_INTERNAL') throw error;
  const { message } = error;
  return { kind: 'error', name: `${error.constructor.name} ${error.code}`, message };
}

/** An expected array, how near to it is near enough, and what it is called. */
export interface Expected {
  readonly name: string;
  readonly value: Snapshot;
  /** The coarsest rounding behind it; 0 for the same bits, infinite for anything. */
  readonly taint: number;
  /** The same array from disturbed runs. */
  readonly disturbed: readonly Snapshot[];
}

/** Disturbances say how far right answers move, up to luck: this much farther is wrong. */
const slack = 64;

/** How an array differs from what it should be, in words; null when it does not. */
export function difference(
  actual: Snapshot,
  { name, value, taint, disturbed }: Expected,
): string | null {
  if (actual.dtype !== value.dtype) return `${name} is ${actual.dtype}, not ${value.dtype}`;
  if (actual.shape.join() !== value.shape.join()) {
    return `${name} has the shape [${actual.shape.join()}], not [${value.shape.join()}]`;
  }
  if (taint === Infinity) return null;
  const at = (of: Snapshot, i: number): number => Number(readElement(of.dtype, of.data, i));
  for (let i = 0; i < value.data.length; i++) {
    if (actual.data[i] === value.data[i] && !Object.is(actual.data[i], 0) && !Object.is(actual.data[i], -0)) continue; // prettier-ignore
    const [a, b] = [at(actual, i), at(value, i)];
    if (Object.is(a, b)) continue;
    if (taint > 0 && isNear(a, b, disturbed.map((one) => at(one, i)), taint)) continue; // prettier-ignore
    return `${name}[${i}] is ${shown(a)}, not ${shown(b)}${taint > 0 ? `; disturbed it is ${disturbed.map((one) => shown(at(one, i))).join(', ')}` : ''}`;
  }
  return null;
}

function isNear(a: number, b: number, others: readonly number[], taint: number): boolean {
  // Where right answers are not even sure to be finite, nothing can be said.
  if (others.some((other) => Number.isFinite(other) !== Number.isFinite(b))) return true;
  if (!Number.isFinite(b)) return false;
  const moved = Math.max(0, ...others.map((other) => Math.abs(other - b)));
  return Math.abs(a - b) <= slack * (moved + taint * Math.abs(b)) + Number.MIN_VALUE;
}

function shown(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

/** The difference between an outcome and the expected one. */
export function outcomeDifference(
  actual: Outcome,
  expected: Outcome,
  describe: (index: number, value: Snapshot) => Expected,
): string | null {
  if (actual.kind === 'error' || expected.kind === 'error') {
    const [a, e] = [actual, expected].map((one) => (one.kind === 'error' ? one.name : 'a result'));
    const told = [actual, expected].flatMap((one) => (one.kind === 'error' ? [one.message] : []));
    return a === e ? null : [`gives ${a}, not ${e}`, ...told].join('\n');
  }
  if (actual.arrays.length !== expected.arrays.length) {
    return `gives ${actual.arrays.length} arrays, not ${expected.arrays.length}`;
  }
  for (const [i, value] of expected.arrays.entries()) {
    const found = difference(actual.arrays[i], describe(i, value));
    if (found !== null) return found;
  }
  return null;
}

/** The rounding that floats of this dtype are compared within, when they are compared nearly. */
export function nearlyTaint(dtype: DType): number {
  return isFloat(dtype) ? roundingOf(dtype) : 0;
}
