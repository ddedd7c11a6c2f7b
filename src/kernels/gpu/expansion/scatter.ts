import { boundsOf, type Dim, elementCount, isStatic } from '../../../base/dim/index.js';
import type { Operator } from '../../../ir/operator.js';
import type { Program, Value } from '../../../ir/program.js';
import type { Shape } from '../../../ir/types.js';
import type { DeviceExpansion } from '../../../ops/declare/kernels.js';
import { iota } from '../../../ops/movement/fill.js';
import { add, reshape, scatter, scatterAdd, takeAdjoint } from '../../../ops/index.js';
import type { IndexMode } from '../../../ops/indexing/position.js';
import {
  lastByPosition,
  normalizedPositions,
  placesAlong,
  sumsByPosition,
} from '../scatter/segments.js';
import { areSelected } from './positions.js';
import { sortedPositions } from './sort.js';

/*
 * Scatters of many contributions by a sort of their positions, where these do not ascend anyway: each element of the
 * result then finds its own in a binary search, in the order in which they came. Few are compared with all elements in one dispatch (`scatter.ts`).
 */

/** Contributions, and comparisons, up to which all are compared. */
const fewContributions = 512;
const fewComparisons = 2 ** 22;

/** Elements up to which contributions of unknown number are compared with all of them. */
const fewElements = 2 ** 16;

/** True for so many contributions to so many elements that their positions are worth a sort. */
function isWorthSorting(contributions: Dim, result: Shape): boolean {
  const elements = elementCount(result);
  const { max: most } = boundsOf(contributions);
  if (most < fewContributions) return false;
  if (isStatic(contributions)) return boundsOf(elements).max * contributions > fewComparisons;
  // Where both grow, comparisons grow with their product.
  return !isStatic(elements) || elements > fewElements;
}

/** Sums, along the middle axis of a result of this shape, of the slices of `x` that have one position. */
function summed(
  x: Value,
  positions: Value,
  shape: readonly [Dim, Dim, Dim],
  mode: IndexMode,
): Value {
  const [before, size, behind] = shape;
  const count = elementCount(positions.type.shape);
  const counted = normalizedPositions(reshape(positions, [count]), size, mode);
  const order = areSelected(positions)
    ? inOrder(positions.program, count)
    : sortedPositions(counted, 0, false);
  return sumsByPosition(reshape(x, [before, count, behind]), counted, order, size);
}

/** The order of positions that ascend. */
function inOrder(program: Program, length: Dim): Value {
  return program.append(iota.declaration, [], { length, start: 0, step: 1, dtype: 'int32' })[0];
}

interface AdjointAttributes {
  readonly shape: Shape;
  readonly axis: number | null;
  readonly mode: IndexMode;
}

/** Gradients of what was taken: of embeddings, above all. */
const adjointExpansion: DeviceExpansion<AdjointAttributes> = ({
  attributes: { shape, axis, mode },
  inputs: [g, indices],
}) => {
  const isWorth = areSelected(indices) || isWorthSorting(elementCount(indices.type.shape), shape);
  if (!isWorth) return null;
  const along = axis === null ? 0 : axis < 0 ? axis + shape.length : axis;
  const [before, size, behind] =
    axis === null
      ? [1, elementCount(shape), 1]
      : [elementCount(shape.slice(0, along)), shape[along], elementCount(shape.slice(along + 1))];
  return [reshape(summed(g, indices, [before, size, behind], mode), shape)];
};

/** Updates of elements along an axis: the sums of those that meet in one, or the last of them. */
function updateExpansion(combine: 'add' | 'set'): DeviceExpansion<{ readonly axis: number }> {
  return ({ inputs: [x, indices, updates], attributes: { axis } }) => {
    const { shape } = x.type;
    const along = axis < 0 ? axis + shape.length : axis;
    if (!isWorthSorting(indices.type.shape[along], shape)) return null;
    const [count, size] = [elementCount(indices.type.shape), elementCount(shape)];
    // Places are int32; elements of unknown number are as many as memory holds.
    if (isStatic(size) && size >= 2 ** 31) return null;
    const positions = reshape(placesAlong(indices, shape, along), [count]);
    const order = sortedPositions(positions, 0, false);
    const flat = reshape(updates, [count]);
    if (combine === 'set') return [reshape(lastByPosition(reshape(x, [size]), flat, positions, order), shape)];
    const sums = sumsByPosition(reshape(updates, [1, count, 1]), positions, order, size);
    return [reshape(add(reshape(x, [1, size, 1]), sums), shape)];
  };
} // prettier-ignore

/** The expansions of scatters. */
export const scatterExpansions: readonly (readonly [Operator, DeviceExpansion])[] = [
  // An expansion is given the attributes of calls of its operator only.
  [takeAdjoint.declaration, adjointExpansion as DeviceExpansion<never> as DeviceExpansion],
  [scatterAdd.declaration, updateExpansion('add') as DeviceExpansion<never> as DeviceExpansion],
  [scatter.declaration, updateExpansion('set') as DeviceExpansion<never> as DeviceExpansion],
];
