import { describe } from '../../base/attributes/attribute.js';
import { type Dim, isStatic, mulDim } from '../../base/dim/index.js';
import { kindOf } from '../../base/dtype.js';
import { ArgumentError, DTypeError, ShapeError } from '../../base/errors.js';
import { array } from '../../front/arrays/creation.js';
import { NDArray } from '../../front/core/ndarray.js';
import { extentsOf } from '../../front/dispatch/traced-shape.js';
import { typeToString } from '../../ir/program.js';
import {
  argsort, countedPositions, extents, greater, iota, reshape, sum, take, takeAdjoint,
} from '../../ops/index.js'; // prettier-ignore

/** Number of steps of each example of a batch: an integer array of shape (batch), or plain numbers. */
export type Lengths = NDArray | readonly number[];

/**
 * A batch sorted by decreasing length: at every step the leading examples are the active ones. States and
 * sequences have their examples along axis 1.
 */
export interface Packing {
  /** Number of active examples at each step: (time). */
  readonly counts: NDArray;
  /** Permutes examples into the sorted order. */
  readonly enter: (x: NDArray) => NDArray;
  /** Permutes examples back into their original order. */
  readonly leave: (x: NDArray) => NDArray;
  /** Packs a sorted sequence (time, batch, channels) into its valid steps: (steps, channels). */
  readonly list: (sequence: NDArray) => NDArray;
  /** Unpacks a result of such steps, with zeros as padding. */
  readonly place: (steps: NDArray) => NDArray;
}

/** Sorts a batch by length. */
export function packingOf(lengths: NDArray, time: Dim, batch: Dim): Packing {
  const order = argsort(lengths, -1, { descending: true });
  const back = argsort(order);
  const steps = iota<NDArray>(time, { dtype: 'int32' }).expandDims(1);
  const exists = greater(take(lengths, order, { axis: 0, mode: 'valid' }), steps);
  const counts = sum(exists, 1);
  const places = mulDim(time, batch);
  const [total] = extentsOf(extents(sum(counts), { most: [places] }));
  const positions = countedPositions(reshape(exists, [places]), total);
  const inPlace = { axis: 0, mode: 'valid' } as const;
  return {
    counts,
    enter: (x) => take(x, order, { axis: 1, mode: 'valid' }),
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
  if (elements === null) return lengths;
  for (const [example, length] of [...elements.host].map(Number).entries()) {
    if (length >= 0 && (!isStatic(most) || length <= most)) continue;
    throw new ArgumentError(`the ${what} of example ${example} is impossible`, {
      op,
      expected: `0 to ${String(most)}, the number of ${unit}`,
      actual: describe(length),
    });
  }
  return lengths;
}
