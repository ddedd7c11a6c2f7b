import { type Dim, floorDivDim, isStatic, mulDim } from '../../../base/dim/index.js';
import type { Shape, Tensor } from '../../../ir/types.js';
import type { Batching } from '../../declare/batch.js';
import { fullLike } from '../../movement/fill.js';
import { reshape } from '../../movement/reshape.js';
import { moveaxis } from '../../movement/transpose.js';
import { sumOfRows } from '../../reduction/rows.js';
import type { WindowAttributes } from './nests.js';

/*
 * Convolutions of all rows of a loop as one. Rows join an axis of the operands: the images, where the other operand is
 * the same for all rows; else channels, in the place where the result has them.
 */

/** An axis that rows join: before its elements, or, where they are grouped, in each group before those of the group. */
interface Joint {
  readonly axis: number;
  readonly grouped: boolean;
}

/** The places of rows in the operands and in the result. */
export interface RowPlaces {
  /** The axes of the only operand that differs from row to row, and of the result. */
  readonly alone: readonly (readonly [from: Joint, to: Joint])[];
  /** The axes of operands that both differ, so that each row has groups of its own, and of the result. */
  readonly both: readonly [first: number, second: number, result: number];
  /** The axes over which a convolution adds up, for the sum over rows. */
  readonly summed: readonly [first: Joint, second: Joint];
}

/** A joint of all the rows of an axis. */
export const whole = (axis: number): Joint => ({ axis, grouped: false });
/** A joint of the rows of each group. */
export const inGroups = (axis: number): Joint => ({ axis, grouped: true });

/** The batching rule of a convolution, which is linear in both operands. */
export function convolvedRows<A extends WindowAttributes>(
  { alone, both, summed }: RowPlaces,
  convolve: <T extends Tensor>(x: T, y: T, attributes: A) => T,
): Batching<A> {
  return {
    // Groups are a number, which a symbolic number of rows is not.
    applies: (isBatched, length) => !(isBatched[0] && isBatched[1]) || isStatic(length),
    rows: ({ inputs: [x, y], isBatched, length, attributes, outputTypes: [{ shape: row }] }) => {
      const { groups } = attributes;
      if (!isBatched[0] || !isBatched[1]) {
        const [from, to] = alone[isBatched[0] ? 0 : 1];
        const [a, b] = isBatched[0] ? [joined(x, from, groups), y] : [x, joined(y, from, groups)];
        return [apart(convolve(a, b, attributes), to, groups, length, row)];
      }
      if (length === 0) return [fullLike(x, 0, { dtype: x.type.dtype, shape: [length, ...row] })];
      const [first, second, result] = both;
      const own = { ...attributes, groups: Number(length) * groups };
      const made = convolve(joined(x, whole(first), 1), joined(y, whole(second), 1), own);
      return [apart(made, whole(result), 1, length, row)];
    },
    total: ({ inputs: [x, y], isBatched, attributes }) => {
      const { groups } = attributes;
      if (!isBatched[0] || !isBatched[1])
        return convolve(
          isBatched[0] ? sumOfRows(x) : x,
          isBatched[1] ? sumOfRows(y) : y,
          attributes,
        );
      return convolve(joined(x, summed[0], groups), joined(y, summed[1], groups), attributes);
    },
  };
}

/** Rows as a part of one of their axes. */
function joined<T extends Tensor>(x: T, { axis, grouped }: Joint, groups: number): T {
  const [length, ...row] = x.type.shape;
  const outer = grouped ? groups : 1;
  const split = row.toSpliced(axis, 1, outer, floorDivDim(row[axis], outer));
  const moved = moveaxis(reshape(x, [length, ...split]), 0, axis + 1);
  return reshape(moved, row.with(axis, mulDim(length, row[axis])));
}

/** The inverse of `joined`, which gives rows of a shape. */
function apart<T extends Tensor>(
  y: T,
  { axis, grouped }: Joint,
  groups: number,
  length: Dim,
  row: Shape,
): T {
  const outer = grouped ? groups : 1;
  const split = row.toSpliced(axis, 1, outer, length, floorDivDim(row[axis], outer));
  return reshape(moveaxis(reshape(y, split), axis + 1, 0), [length, ...row]);
}
