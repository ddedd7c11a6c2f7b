import { isFloat } from '../../base/dtype.js';
import { concat } from '../../ops/index.js';
import { unflattenTree } from '../../base/attributes/tree.js';
import { zeros } from '../arrays/creation.js';
import type { NDArray } from '../core/ndarray.js';
import { mode } from '../core/mode.js';
import { placedBeside } from '../devices/placing.js';
import { joinRecording } from '../dispatch/dispatch.js';
import { aliasOf, linkTo } from '../dispatch/values.js';
import { checkOutput } from './checks.js';
import { arrangedLike, namesOf, type Nested } from './nesting.js';
import { Stack } from './rows.js';

/** Outputs of the iterations so far. */
export class StackedOutputs {
  readonly #op: string;
  readonly #first: Nested;
  readonly #names: readonly string[];
  readonly #stacks: readonly Stack[];

  /** @param reverse The last row comes first. */
  constructor(op: string, first: Nested, reverse: boolean = false) {
    this.#op = op;
    this.#first = first;
    this.#names = namesOf(first);
    this.#stacks = first.leaves.map((leaf) => new Stack(settled(leaf), reverse));
  }

  /** Adds the outputs of an iteration, whose types must match the first one's. */
  add(outputs: Nested): void {
    const leaves = arrangedLike(this.#op, this.#first, outputs, 'changes its structure');
    leaves.forEach((leaf, k) => {
      const stack = this.#stacks[k];
      const now = settled(leaf);
      checkOutput(this.#op, this.#names[k], stack.first.type, now.type);
      stack.push(now);
    });
  }

  /** The stacked outputs in the body's own nesting, zero-padded after `count` iterations up to `rows`. */
  finish(count: number, rows: number): unknown {
    const stacked = this.#stacks.map((stack) => {
      const filled = stack.finish();
      if (rows === count) return filled;
      const { dtype, shape } = stack.first;
      return concat([
        filled,
        placedBeside([filled], () => zeros([rows - count, ...shape], { dtype })),
      ]);
    });
    return unflattenTree(this.#first.structure, stacked);
  }
}

/**
 * A computed array that keeps its elements even if the array is assigned to in a later iteration. Arrays with
 * a gradient or a history are returned as they are: they cannot be assigned to while that matters, and
 * gradients may be requested for them by name. In a recording they take part, even if nothing reads them.
 */
export function settled(array: NDArray): NDArray {
  const { gradient, origin } = array.computed();
  if (origin !== null || (gradient !== null && gradient.req !== 'null')) {
    if (mode.session !== null) joinRecording(array);
    return array;
  }
  return gradient === null && isFloat(array.dtype) ? linkTo(array) : aliasOf(array);
}
