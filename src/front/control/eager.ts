import { isFloat } from '../../base/dtype.js';
import { concat } from '../../ops/index.js';
import { unflatten } from '../../base/attributes/tree.js';
import { zeros } from '../arrays/creation.js';
import type { NDArray } from '../core/ndarray.js';
import { aliasOf, linkTo } from '../dispatch/values.js';
import { checkOutput } from './checks.js';
import { arrangedLike, namesOf, type Nested } from './nesting.js';
import { Stack } from './rows.js';

/** The outputs of the iterations that have run. */
export class Outputs {
  readonly #op: string;
  readonly #first: Nested;
  readonly #names: readonly string[];
  readonly #stacks: readonly Stack[];

  /** @param reverse Whether the last row comes first. */
  constructor(op: string, first: Nested, reverse: boolean = false) {
    this.#op = op;
    this.#first = first;
    this.#names = namesOf(first);
    this.#stacks = first.leaves.map((leaf) => new Stack(settled(leaf), reverse));
  }

  /** Adds those of another iteration, which must be like the first one's. */
  add(outputs: Nested): void {
    const leaves = arrangedLike(this.#op, this.#first, outputs, 'changes its structure');
    leaves.forEach((leaf, k) => {
      const stack = this.#stacks[k];
      const now = settled(leaf);
      checkOutput(this.#op, this.#names[k], stack.first.type, now.type);
      stack.push(now);
    });
  }

  /** All of them in the body's own nesting, with rows of zeros after those of `count` iterations up to `rows`. */
  finish(count: number, rows: number): unknown {
    const stacked = this.#stacks.map((stack) => {
      const filled = stack.finish();
      if (rows === count) return filled;
      const { dtype, shape } = stack.first;
      return concat([filled, zeros([rows - count, ...shape], { dtype })]);
    });
    return unflatten(this.#first.structure, stacked);
  }
}

/**
 * A computed array that keeps its elements even if the array is assigned to in a later iteration. What
 * keeps a gradient or has a history is left alone: it cannot be assigned to while that matters. Gradients
 * flow through to everything else, too: they may be asked for by name.
 */
export function settled(array: NDArray): NDArray {
  const { gradient, origin } = array.computed();
  if (origin !== null || (gradient !== null && gradient.req !== 'null')) return array;
  return gradient === null && isFloat(array.dtype) ? linkTo(array) : aliasOf(array);
}
