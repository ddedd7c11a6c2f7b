import { concat, stack } from '../../ops/index.js';
import { fan } from '../arrays/iterate-rows.js';
import type { NDArray } from '../core/ndarray.js';

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
