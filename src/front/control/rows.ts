import { concat, reshape, split, stack } from '../../ops/index.js';
import type { NDArray } from '../core/ndarray.js';

/*
 * Taking arrays apart into rows and putting them together, in blocks of blocks. One by one, each row
 * would cost as much as the whole array in a backward pass; all at once, each length would need code of
 * its own, with as many operands as there are rows.
 */

/**
 * Number of parts that are split or joined at once. Each number of parts is a kernel of its own, and larger
 * ones take longer to compile; smaller ones copy the rows more often.
 */
const fan = 8;

/** The rows of an array along its first axis, which they drop; the last one first if `reverse`. */
export function* iterateRows(x: NDArray, reverse: boolean): Generator<NDArray, void> {
  const [length, ...rest] = x.shape;
  let size = 1;
  while (size * fan < length) size *= fan;
  const cuts = Array.from({ length: Math.ceil(length / size) - 1 }, (_, i) => (i + 1) * size);
  const parts = cuts.length === 0 ? [x] : split(x, cuts);
  for (const part of reverse ? parts.toReversed() : parts) {
    if (size === 1) yield reshape(part, rest);
    else yield* iterateRows(part, reverse);
  }
}

/** Stacks rows incrementally, in order or in reverse. */
export class Stack {
  /** Pending rows, then pending blocks of rows: those of each level are about `fan` times as long. */
  readonly #levels: NDArray[][] = [[]];
  /** A row for comparisons; there is at least one. */
  readonly first: NDArray;

  readonly #reverse: boolean;

  constructor(first: NDArray, reverse: boolean) {
    this.first = first;
    this.#reverse = reverse;
    this.push(first);
  }

  push(row: NDArray): void {
    this.#add(0, row);
  }

  /** All rows along a new first axis. */
  finish(): NDArray {
    for (let level = 0; ; level++) {
      const waiting = this.#levels[level];
      const isLast = level === this.#levels.length - 1;
      if (isLast && level > 0 && waiting.length === 1) return waiting[0];
      if (isLast) return this.#join(level, waiting);
      if (waiting.length > 0) this.#levels[level + 1].push(this.#join(level, waiting));
    }
  }

  #add(level: number, part: NDArray): void {
    if (level === this.#levels.length) this.#levels.push([]);
    const waiting = this.#levels[level];
    waiting.push(part);
    if (waiting.length < fan) return;
    this.#levels[level] = [];
    this.#add(level + 1, this.#join(level, waiting));
  }

  #join(level: number, parts: readonly NDArray[]): NDArray {
    const inOrder = this.#reverse ? parts.toReversed() : parts;
    return level === 0 ? stack(inOrder) : concat(inOrder);
  }
}
