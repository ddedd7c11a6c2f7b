import * as kn from '../../src/index.js';
import type { Draw } from '../support/random.js';

/** Behind the ten digits: what stands between a number and the answer, and what ends the answer. */
export const equals = 10;
export const end = 11;
export const tokenNames: readonly string[] = [...'0123456789', '=', 'end'];

/** How many tokens a task needs: the number, its answer, and what stands behind each. */
export function capacityFor(digits: number): number {
  return 2 * digits + 2;
}

/** Some digits to write in the reverse order. */
export type Digits = readonly number[];

/** 1 to `longest` digits. */
export function drawDigits(draw: Draw, longest: number): Digits {
  return Array.from({ length: draw(1, longest) }, () => draw(0, 9));
}

/** A task and its answer: `3 1 4 = 4 1 3 end`. */
export function solved(digits: Digits): number[] {
  return [...digits, equals, ...digits.toReversed(), end];
}

/** Token sequences of one length, int32[batch, length], with ends behind the shorter ones. */
export function tokens(sequences: readonly (readonly number[])[], length: number): kn.NDArray {
  const padded = sequences.map((sequence) =>
    Array.from({ length }, (_, at) => sequence[at] ?? end),
  );
  return kn.array(padded, { dtype: 'int32' });
}

/** Tasks with their answers, to learn from. */
export interface TaskBatch {
  /** int32[batch, time] */
  readonly tokens: kn.NDArray;
  /** 1 where the next token belongs to the answer: float32[batch, time - 1]. */
  readonly weights: kn.NDArray;
}

export function taskBatch(tasks: readonly Digits[], capacity: number): TaskBatch {
  const weights = tasks.map(({ length }) =>
    Array.from({ length: capacity - 1 }, (_, at) => (at >= length && at <= 2 * length ? 1 : 0)),
  );
  return { tokens: tokens(tasks.map(solved), capacity), weights: kn.array(weights) };
}
