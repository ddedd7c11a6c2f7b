import { describe } from '../../base/attributes/attribute.js';
import { type Dim, isStatic, mulDim } from '../../base/dim/index.js';
import { kindOf } from '../../base/dtype.js';
import { ArgumentError, DTypeError, ShapeError } from '../../base/errors.js';
import { array } from '../../front/arrays/creation.js';
import { mode } from '../../front/core/mode.js';
import { NDArray } from '../../front/core/ndarray.js';
import { answersLater } from '../../front/devices/placing.js';
import { extentsOf } from '../../front/dispatch/traced-shape.js';
import { typeToString } from '../../ir/program.js';
import {
  argsort, countedPositions, extents, greater, iota, reshape, sliceAdjoint, sum, take, takeAdjoint, updateSlice, where,
} from '../../ops/index.js'; // prettier-ignore
import type { Unrolled } from './cells.js';

/** Number of steps of each example of a batch: an integer array of shape (batch), or plain numbers. */
export type Lengths = NDArray | readonly number[];

/** Way to compute the valid steps of a batch. States and sequences have their examples along axis 1. */
export interface Packing {
  /** Input of `advance` for each step: (time, ...). */
  readonly active: NDArray;
  /** Brings a sequence of inputs into the form that the loop reads; padding then has no influence. */
  readonly enter: (sequence: NDArray) => NDArray;
  /** Brings what has no padding into the order of the loop. */
  readonly arrange: (x: NDArray) => NDArray;
  /** Brings states and outputs back into the order of the batch. */
  readonly leave: (x: NDArray) => NDArray;
  /** Packs a sequence in the order of the loop, (time, batch, channels), for products of all its steps. */
  readonly list: (sequence: NDArray) => NDArray;
  /** Unpacks the result of such a product. */
  readonly place: (steps: NDArray) => NDArray;
  /** Advances the active examples by a step; the others keep their states and output zeros. */
  readonly advance: (
    step: Unrolled['step'],
    row: NDArray,
    before: readonly NDArray[],
    active: NDArray,
  ) => [output: NDArray, states: NDArray[]];
}

/**
 * Packs the valid steps of a batch, or masks the others where every size has to be known before a run: for some
 * engines, and in eager code on a device that answers later.
 */
export function packingOf(lengths: NDArray, time: Dim, batch: Dim): Packing {
  const areSizesLate = mode.capture === null && answersLater(lengths);
  return mode.hasStaticSizes || areSizesLate ? masked(lengths, time) : sorted(lengths, time, batch);
}

/** All steps of all examples, masked where an example has ended. No example changes its place. */
function masked(lengths: NDArray, time: Dim): Packing {
  const steps = iota<NDArray>(time, { dtype: 'int32' }).expandDims([1, 2]);
  const active = greater(lengths.expandDims([0, 2]), steps);
  const same = (x: NDArray): NDArray => x;
  return {
    active,
    // Zeros, since the gradient of padding is a product with it, and NaN times zero is NaN.
    enter: (sequence) => where<NDArray>(active, sequence, 0),
    arrange: same,
    leave: same,
    list: same,
    place: same,
    advance(step, row, before, isActive) {
      const after = step(row, before);
      const states = after.map((state, k) => where<NDArray>(isActive, state, before[k]));
      return [where<NDArray>(isActive, after[0], 0), states];
    },
  };
}

/** A batch sorted by decreasing length: at every step the leading examples are the active ones. */
function sorted(lengths: NDArray, time: Dim, batch: Dim): Packing {
  const order = argsort(lengths, -1, { descending: true });
  const back = argsort(order);
  const steps = iota<NDArray>(time, { dtype: 'int32' }).expandDims(1);
  const exists = greater(take(lengths, order, { axis: 0, mode: 'valid' }), steps);
  const counts = sum(exists, 1);
  const places = mulDim(time, batch);
  const [total] = extentsOf(extents(sum(counts), { most: [places] }));
  const positions = countedPositions(reshape(exists, [places]), total);
  const inPlace = { axis: 0, mode: 'valid' } as const;
  const arrange = (x: NDArray): NDArray => take(x, order, { axis: 1, mode: 'valid' });
  return {
    active: counts,
    enter: arrange,
    arrange,
    leave: (x) => take(x, back, { axis: 1, mode: 'valid' }),
    list: (sequence) => {
      const channels = extentsOf(sequence)[2];
      return take(reshape(sequence, [places, channels]), positions, inPlace);
    },
    place: (list) => {
      const [, channels] = extentsOf(list);
      const placed = takeAdjoint(list, positions, [places, channels], inPlace);
      return reshape(placed, [time, batch, channels]);
    },
    advance(step, row, before, count) {
      const [size] = extentsOf(extents<NDArray>(count));
      const leading = [[0, size, 1]] as const;
      const after = step(
        row.slice(...leading),
        before.map((state) => state.slice(...leading)),
      );
      return [
        sliceAdjoint<NDArray>(after[0], extentsOf(before[0]), leading),
        after.map((each, k) => updateSlice(before[k], each, 0, 0)),
      ];
    },
  };
}

/** Words of error messages: the name of a length, and what it counts. */
export interface LengthWords {
  readonly what: string;
  readonly unit: string;
}

/**
 * Lengths as an array. Known elements are checked here, before anything is computed; elements that only a
 * running graph knows are clamped to the valid range.
 *
 * @throws DTypeError for lengths that are not integers, ShapeError when their number is not the number of
 * examples, ArgumentError for negative lengths and for those beyond the end.
 */
export function checkedLengths(
  op: string,
  given: Lengths,
  most: Dim,
  batch: Dim,
  { what, unit }: LengthWords = { what: 'length', unit: 'steps' },
): NDArray {
  const lengths = given instanceof NDArray ? given : array(given, { dtype: 'int32' });
  const { type, elements } = lengths;
  if (kindOf(type.dtype) !== 'int') {
    throw new DTypeError(`${what}s are integers`, {
      op,
      expected: 'an integer dtype',
      actual: type.dtype,
      advice: "make them with { dtype: 'int32' }",
    });
  }
  const [count] = type.shape;
  const differs = isStatic(count) && isStatic(batch) && count !== batch;
  if (type.shape.length !== 1 || differs) {
    throw new ShapeError(`there must be one ${what} for each example`, {
      op,
      expected: `shape [${String(batch)}]`,
      actual: typeToString(type),
    });
  }
  const known =
    given instanceof NDArray ? (elements?.isKnown === true ? elements.host : []) : given;
  for (const [example, length] of [...known].map(Number).entries()) {
    if (length >= 0 && (!isStatic(most) || length <= most)) continue;
    throw new ArgumentError(`the ${what} of example ${example} is impossible`, {
      op,
      expected: `0 to ${String(most)}, the number of ${unit}`,
      actual: describe(length),
    });
  }
  return lengths;
}
